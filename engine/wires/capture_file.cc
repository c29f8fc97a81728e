#include "wires/capture_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "core/refusal.h"

namespace wt {

namespace {

constexpr uint64_t file_header_bytes = 24, packet_header_bytes = 16;  // as pcap-savefile(5) has them
constexpr int longest_frame = 65535;

}  // namespace

capture_file::capture_file(const std::string &path)
    : path_(path),
      file_descriptor_(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)),
      bytes_(file_header_bytes) {
    if (file_descriptor_ < 0 && errno == EEXIST)
        throw refusal("recording " + path + ": the file exists and is not overwritten",
                      "use another file, or remove it");
    if (file_descriptor_ < 0) throw refusal("recording " + path + ": " + std::strerror(errno));
    format_ = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, longest_frame, PCAP_TSTAMP_PRECISION_NANO);
    const int buffered = fcntl(file_descriptor_, F_DUPFD_CLOEXEC, 0);
    std::FILE *file = buffered < 0 ? nullptr : fdopen(buffered, "wb");
    if (format_ && file) dumper_ = pcap_dump_fopen(format_, file);
    if (!dumper_) throw std::bad_alloc();
    flush();
}

capture_file::~capture_file() { cut(); }

void capture_file::append(uint64_t wall_ns, const void *frame, uint32_t bytes) {
    if (error_) return;
    pcap_pkthdr header{};
    header.ts.tv_sec = static_cast<time_t>(wall_ns / 1'000'000'000);
    // nanoseconds: the file's format says so
    header.ts.tv_usec = static_cast<suseconds_t>(wall_ns % 1'000'000'000);
    header.caplen = header.len = bytes;
    errno = 0;
    // it does not report a failed write: the stream keeps the error, errno only until the next call
    pcap_dump(reinterpret_cast<u_char *>(dumper_), &header, static_cast<const u_char *>(frame));
    if (std::ferror(pcap_dump_file(dumper_))) return fail();
    frames_++;
    bytes_ += packet_header_bytes + bytes;
}

void capture_file::flush() {
    if (error_) return;
    errno = 0;
    if (pcap_dump_flush(dumper_) < 0) return fail();
    flushed_frames_ = frames_;
    flushed_bytes_ = bytes_;
}

void capture_file::fail() {
    error_ = errno ? errno : EIO;
    // at once: who has no room for this file may have none for the others either, and kill us
    if (ftruncate(file_descriptor_, static_cast<off_t>(flushed_bytes_)) < 0) error_ = errno;
}

void capture_file::cut() {
    if (dumper_) {
        flush();
        pcap_dump_close(
            dumper_);  // after a failure this may still write some of its buffer: hence the cut after it
        dumper_ = nullptr;
    }
    if (format_) pcap_close(format_);
    format_ = nullptr;
    if (file_descriptor_ < 0) return;
    if (error_ && ftruncate(file_descriptor_, static_cast<off_t>(flushed_bytes_)) < 0) error_ = errno;
    if (::close(file_descriptor_) < 0 && !error_) error_ = errno;
    file_descriptor_ = -1;
}

void capture_file::close() {
    cut();
    if (error_)
        throw refusal("recording " + path_ + ": " + std::strerror(error_) + "; the file ends after " +
                          std::to_string(flushed_frames_) + " whole frames",
                      "free some space, or record for a shorter time");
}

}  // namespace wt
