import { readFile } from 'node:fs/promises'
import { Fault } from '@reeve/kit/fault.ts'
import { isMissing } from './store/state-file.ts'

/** A user account of the machine. */
export interface HostUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

interface HostGroup {
  readonly name: string
  readonly gid: number
  /** Names of the users with this supplementary group. */
  readonly members: readonly string[]
}

/** Contents of the account files; other account sources are not supported. */
export interface HostAccounts {
  readonly users: readonly HostUser[]
  readonly groups: readonly HostGroup[]
}

const PASSWD_FILE = '/etc/passwd'
const GROUP_FILE = '/etc/group'

/**
 * The account that a task requests: a name, a number, or `uid:gid`. Fault `task-unstartable` if it
 * does not exist: running as another user would be worse than not running.
 */
export async function getHostUser(user: string): Promise<HostUser> {
  const ids = parseUserAndGroupIds(user)
  return ids ?? getUserIn(parsePasswd(await readFile(PASSWD_FILE, 'utf8')), user)
}

/** Like `getHostUser`, in accounts that were already read. */
export function getUserIn(users: readonly HostUser[], userSpec: string): HostUser {
  const account =
    parseUserAndGroupIds(userSpec) ??
    users.find((candidate) => candidate.name === userSpec || String(candidate.uid) === userSpec)
  if (account !== undefined) return account
  throw new Fault(
    'task-unstartable',
    `user ${JSON.stringify(userSpec)} does not exist on this node`,
  )
}

/** Parses `uid:gid`, which does not have to be an existing account. */
function parseUserAndGroupIds(user: string): HostUser | undefined {
  const match = /^(\d{1,10}):(\d{1,10})$/.exec(user)
  return match === null ? undefined : { name: user, uid: Number(match[1]), gid: Number(match[2]) }
}

/** Reads the accounts for each start: one may have been added since. */
export async function readHostAccounts(): Promise<HostAccounts> {
  const [passwd, group] = await Promise.all([
    readFile(PASSWD_FILE, 'utf8'),
    readFile(GROUP_FILE, 'utf8').catch((thrown: unknown) => {
      if (isMissing(thrown)) return ''
      throw thrown
    }),
  ])
  return { users: parsePasswd(passwd), groups: parseGroups(group) }
}

export function parsePasswd(text: string): readonly HostUser[] {
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':')
    if (name === undefined || !/^\d+$/.test(uid ?? '') || !/^\d+$/.test(gid ?? '')) return []
    return [{ name, uid: Number(uid), gid: Number(gid) }]
  })
}

export function parseGroups(text: string): readonly HostGroup[] {
  return text.split('\n').flatMap((line) => {
    const [name, , gid, members] = line.split(':')
    if (name === undefined || name === '' || !/^\d+$/.test(gid ?? '')) return []
    return [{ name, gid: Number(gid), members: (members ?? '').split(',').filter(Boolean) }]
  })
}
