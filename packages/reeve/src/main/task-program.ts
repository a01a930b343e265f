import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { installation } from './installation.ts'

/**
 * Installs the task helper of this node in the data directory; undefined if none was built. A
 * running agent keeps its launcher and sessions when the installation is replaced.
 */
export function taskHelperPath(
  dataDir: string,
  link: string = installation.helper,
): string | undefined {
  if (!existsSync(link)) return undefined
  // The real path contains the hash of the sources, so a newer build has another name.
  const built = realpathSync(link)
  try {
    return copied(built, join(dataDir, 'bin'))
  } catch {
    // The disk is full or mounted noexec: use the original file.
    return built
  }
}

function copied(built: string, dir: string): string {
  const name = basename(built)
  const path = join(dir, name)
  mkdirSync(dir, { recursive: true, mode: 0o755 })
  // Renamed into place: a running executable cannot be overwritten, but it keeps running without a
  // name.
  copyFileSync(built, `${path}.new`)
  renameSync(`${path}.new`, path)
  for (const other of readdirSync(dir)) if (other !== name) rmSync(join(dir, other))
  accessSync(path, constants.X_OK)
  return path
}
