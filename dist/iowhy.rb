# Homebrew on Linux: the static binary of a release. dist/release fills in what stands between @.
# Untried: no Homebrew was at hand.
class Iowhy < Formula
  desc "Why is my I/O slow: the workload or the disk?"
  homepage "@URL@"
  version "@VERSION@"
  license "Apache-2.0"
  depends_on :linux

  on_intel do
    url "@URL@/@VERSION@/iowhy-@VERSION@-linux-x86_64.tar.gz"
    sha256 "@GZIP_x86_64@"
  end
  on_arm do
    url "@URL@/@VERSION@/iowhy-@VERSION@-linux-aarch64.tar.gz"
    sha256 "@GZIP_aarch64@"
  end

  def install
    bin.install "iowhy"
    man1.install Dir["man/*.1.gz"]
    man7.install Dir["man/*.7.gz"]
    bash_completion.install "completions/iowhy"
    zsh_completion.install "completions/_iowhy"
    fish_completion.install "completions/iowhy.fish"
  end

  test do
    assert_match "device.retry", shell_output("#{bin}/iowhy why --example dusty-disk")
  end
end
