import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
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
