/** A built release, unpacked, and an empty Debian root to try it in. */
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface OpenedRelease {
  /** Where its files are. */
  readonly folder: string
  readonly version: string
  /** The tarball's directory. */
  readonly installation: string
  /** `DIR/FILE` for the one file with this ending; fails where it is missing. */
  file(suffix: string): string
  /** A fresh root with essential packages, `xz` and the libraries that packages depend on. */
  debianRoot(): string | undefined
  /** Why there is no root. */
  readonly rootMissing: string
  close(): void
}

const TOOL_MS_MAX = 600_000

export async function openRelease(folder: string): Promise<OpenedRelease> {
  const files = fs.readdirSync(folder)
  const file = (suffix: string): string => {
    const found = files.find((name) => name.endsWith(suffix))
    if (found === undefined) throw new Error(`${folder} has no file *${suffix}`)
    return join(folder, found)
  }
  const work = fs.mkdtempSync(join(tmpdir(), 'reeve-release-check-'))
  // A name with a space: every check runs from it.
  const place = join(work, 'un packed')
  fs.mkdirSync(place)
  run('tar', ['-xJf', file('.tar.xz'), '-C', place])
  const [name = ''] = fs.readdirSync(place)
  fs.chmodSync(work, 0o755)
  const version = /^reeve-(.+)-linux-\w+$/.exec(name)?.[1] ?? ''
  let base: string | undefined
  const isPossible =
    process.getuid?.() === 0 && spawnSync('debootstrap', ['--version']).error === undefined
  let count = 0
  return {
    folder,
    version,
    installation: join(place, name),
    file,
    rootMissing: 'an empty Debian root needs root and debootstrap (apt-get install debootstrap)',
    debianRoot() {
      if (!isPossible) return undefined
      base ??= bootstrap(join(work, 'base'))
      count += 1
      const copy = join(work, `root-${count}`)
      run('cp', ['-a', base, copy])
      return copy
    },
    close: () => fs.rmSync(work, { recursive: true, force: true }),
  }
}

/** `REEVE_DEBIAN_ROOT` names an existing root, which is copied and never changed. */
function bootstrap(folder: string): string {
  const given = process.env['REEVE_DEBIAN_ROOT']
  if (given !== undefined) return given
  const include = '--include=libatomic1,libstdc++6,libgcc-s1,xz-utils'
  run('debootstrap', ['--variant=minbase', include, 'stable', folder])
  return folder
}

/** Its output; an error with it where it fails. */
export function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; uid?: number } = {},
): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    timeout: TOOL_MS_MAX,
    maxBuffer: 1 << 26,
    ...options,
  })
  if (error !== undefined) throw error
  if (status !== 0)
    throw new Error(`${command} ended with ${status}: ${`${stdout}${stderr}`.slice(-500)}`)
  return `${stdout}${stderr}`
}

/** Runs a shell script inside a root, in mount and process namespaces of its own. */
export function inRoot(root: string, script: string): string {
  const outer = ['-m', '-p', '-f', '--kill-child', 'chroot', root]
  const mounts = 'mount -t proc proc /proc; mount -t sysfs sys /sys 2>/dev/null; set -e\n'
  const environment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', LC_ALL: 'C.UTF-8' }
  return run('unshare', [...outer, '/bin/sh', '-c', `${mounts}${script}`], { env: environment })
}
