import { readFile } from 'node:fs/promises'
import { Fault } from '@reeve/kit/fault.ts'
import { isMissing } from './store/state-file.ts'

/** An account of the machine. */
export interface HostUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

export interface HostGroup {
  readonly name: string
  readonly gid: number
  /** The names of the accounts that have it as a supplementary group. */
  readonly members: readonly string[]
}

/** What the account files of the machine say; other sources of accounts are not asked. */
export interface HostAccounts {
  readonly users: readonly HostUser[]
  readonly groups: readonly HostGroup[]
}

const PASSWD = '/etc/passwd'
const GROUP = '/etc/group'

/**
 * The account a task asks for: a name, a number, or `uid:gid`. Fault `task-unstartable` when there
 * is none: running as somebody else instead would be worse than not running.
 */
export async function findUser(wanted: string): Promise<HostUser> {
  const pair = parsePair(wanted)
  return pair ?? lookupUser(parsePasswd(await readFile(PASSWD, 'utf8')), wanted)
}

/** As `findUser`, in accounts that have been read. */
export function lookupUser(users: readonly HostUser[], wanted: string): HostUser {
  const found =
    parsePair(wanted) ?? users.find((user) => user.name === wanted || String(user.uid) === wanted)
  if (found !== undefined) return found
  throw new Fault('task-unstartable', `user ${JSON.stringify(wanted)} does not exist on this node`)
}

/** `uid:gid`, which need not be an account. */
function parsePair(wanted: string): HostUser | undefined {
  const pair = /^(\d{1,10}):(\d{1,10})$/.exec(wanted)
  return pair === null ? undefined : { name: wanted, uid: Number(pair[1]), gid: Number(pair[2]) }
}

/** Read again for each start: an account may have been added a moment ago. */
export async function readHostAccounts(): Promise<HostAccounts> {
  const [passwd, group] = await Promise.all([
    readFile(PASSWD, 'utf8'),
    readFile(GROUP, 'utf8').catch((thrown: unknown) => {
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
