// A pcap file that is being written: Ethernet frames with nanosecond times. Whatever happens, it ends at a
// whole frame.
#pragma once

#include <pcap/pcap.h>

#include <cstdint>
#include <string>

namespace wt {

class capture_file {
  public:
    // Creates the file. Throws refusal where it exists (nothing is ever overwritten) or cannot be made.
    explicit capture_file(const std::string &path);
    ~capture_file();
    capture_file(const capture_file &) = delete;
    capture_file &operator=(const capture_file &) = delete;

    // Adds a frame, buffered; after a failure nothing more is added.
    void append(uint64_t wall_ns, const void *frame, uint32_t bytes);
    void flush();

    // Frames that are whole in the file, as of the last flush.
    uint64_t frames() const { return flushed_frames_; }

    // Ends the file. Throws refusal where not all could be written; the file then holds frames() frames.
    void close();

  private:
    void fail();
    void cut();

    std::string path_;
    int file_descriptor_;  // a second one, with which the file is cut where the buffered one has failed
    pcap_t *format_ = nullptr;
    pcap_dumper_t *dumper_ = nullptr;
    int error_ = 0;
    uint64_t frames_ = 0, flushed_frames_ = 0;
    uint64_t bytes_, flushed_bytes_ = 0;
};

}  // namespace wt
