# Nix: builds from the source that it lies in. `nix run '.?dir=dist' -- why --example dusty-disk`
# Untried: no Nix was at hand.
{
  description = "Why is my I/O slow: the workload or the disk?";
  inputs.nixpkgs.url = "nixpkgs";
  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
      manifest = (builtins.fromTOML (builtins.readFile ../Cargo.toml)).workspace.package;
    in {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "iowhy";
          inherit (manifest) version;
          src = ../.;
          cargoLock.lockFile = ../Cargo.lock;
          cargoBuildFlags = [ "-p" "iowhy" ];
          # The BPF programs are compiled when iowhy is built; clang without the wrapper knows the target.
          nativeBuildInputs = [ pkgs.llvmPackages.clang-unwrapped pkgs.installShellFiles ];
          # Its tests ask for devices, root and kernels.
          doCheck = false;
          postInstall = ''
            for page in "" $($out/bin/iowhy explain commands | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
              $out/bin/iowhy explain --man $page > iowhy''${page:+-$page}.1
            done
            installManPage *.1
            installShellCompletion --cmd iowhy --bash <(COMPLETE=bash $out/bin/iowhy) \
              --zsh <(COMPLETE=zsh $out/bin/iowhy) --fish <(COMPLETE=fish $out/bin/iowhy)
          '';
          meta = {
            inherit (manifest) description homepage;
            license = nixpkgs.lib.licenses.asl20;
            mainProgram = "iowhy";
            platforms = systems;
          };
        };
      });
    };
}
