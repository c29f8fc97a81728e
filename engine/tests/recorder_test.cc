// The file that a recording ends in. What workers take towards it needs a pool, so EAL: that is in
// ports_test.cc.
#include <gtest/gtest.h>

#include <fstream>

#include "test_tools.h"
#include "wires/capture_file.h"

namespace wt::test::recorder_test {

namespace {

struct Recorder : testing::Test {
    // Frames that libpcap reads back; fails where the file is damaged.
    uint64_t frames_in_file() const {
        char why[PCAP_ERRBUF_SIZE];
        pcap_t *file = pcap_open_offline(path.c_str(), why);
        EXPECT_NE(file, nullptr) << why;
        pcap_pkthdr *header;
        const u_char *bytes;
        uint64_t frames = 0;
        int got;
        while ((got = pcap_next_ex(file, &header, &bytes)) == 1) frames++;
        EXPECT_EQ(got, PCAP_ERROR_BREAK) << pcap_geterr(file);
        pcap_close(file);
        return frames;
    }

    wt::test::temporary_directory directory;
    std::string path = directory / "capture.pcap";
};

TEST_F(Recorder, FramesKeepTheirNanoseconds) {
    wt::capture_file file(path);
    const std::string frames[] = {std::string(60, 'a'), std::string(1514, 'b')};
    file.append(1'234'567'890'123'456'789, frames[0].data(), 60);
    file.append(1'234'567'891'000'000'001, frames[1].data(), 1514);
    file.close();
    EXPECT_EQ(file.frames(), 2u);

    char why[PCAP_ERRBUF_SIZE];
    pcap_t *back = pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, why);
    ASSERT_NE(back, nullptr) << why;
    EXPECT_EQ(pcap_datalink(back), DLT_EN10MB);
    pcap_pkthdr *header;
    const u_char *bytes;
    ASSERT_EQ(pcap_next_ex(back, &header, &bytes), 1);
    EXPECT_EQ(header->ts.tv_sec, 1'234'567'890);
    EXPECT_EQ(header->ts.tv_usec, 123'456'789);
    EXPECT_EQ(std::string(bytes, bytes + header->caplen), frames[0]);
    ASSERT_EQ(pcap_next_ex(back, &header, &bytes), 1);
    EXPECT_EQ(header->ts.tv_usec, 1);
    EXPECT_EQ(std::string(bytes, bytes + header->len), frames[1]);
    pcap_close(back);
}

TEST_F(Recorder, AnEmptyRecordingIsAValidFile) {
    wt::capture_file(path).close();
    EXPECT_EQ(frames_in_file(), 0u);
}

TEST_F(Recorder, NothingIsOverwritten) {
    std::ofstream(path) << "precious";
    EXPECT_THROW(wt::capture_file{path}, wt::refusal);
    std::string kept;
    std::ifstream(path) >> kept;
    EXPECT_EQ(kept, "precious");
}

TEST_F(Recorder, AMissingDirectoryIsRefused) {
    const std::string words = refusal_of([&] { wt::capture_file file(directory / "absent/x.pcap"); });
    EXPECT_TRUE(wt::test::contains(words, "No such file or directory")) << words;
}

TEST_F(Recorder, AFullDiskLeavesWholeFramesAndIsRefused) {
    wt::capture_file file(path);
    const std::string frame(1000, 'x');
    {
        const wt::test::full_disk disk(100'000);
        for (int i = 0; i < 200; i++) {
            file.append(i, frame.data(), 1000);
            if (i % 10 == 9) file.flush();
        }
        EXPECT_THROW(file.close(), wt::refusal);
    }
    EXPECT_EQ(file.frames(), 90u);  // 24 + 90 * 1016 bytes; the flush of the tenth ten failed
    EXPECT_EQ(frames_in_file(), 90u);
}

}  // namespace

}  // namespace wt::test::recorder_test
