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
 * The task helper of this node, or undefined where none was built. It runs from the data directory,
 * so that an installation which is replaced under a running agent takes neither the launcher nor
 * sessions from it.
 */
export function helperProgram(
  dataDir: string,
  link: string = installation.helper,
): string | undefined {
  if (!existsSync(link)) return undefined
  // The real path holds the hash of its sources: a newer build is another file.
  const built = realpathSync(link)
  try {
    return copied(built, join(dataDir, 'bin'))
  } catch {
    // No room, or a place from which no program may run: the built one still does.
    return built
  }
}

function copied(built: string, dir: string): string {
  const name = basename(built)
  const path = join(dir, name)
  mkdirSync(dir, { recursive: true, mode: 0o755 })
  // By rename: a file that runs cannot be written, and keeps running when it has no name any more.
  copyFileSync(built, `${path}.new`)
  renameSync(`${path}.new`, path)
  for (const other of readdirSync(dir)) if (other !== name) rmSync(join(dir, other))
  accessSync(path, constants.X_OK)
  return path
}
