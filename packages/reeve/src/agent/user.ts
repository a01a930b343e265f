import { readFile } from 'node:fs/promises'
import { Fault } from '../kit/fault.ts'

/** An account of the machine. */
export interface HostUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

const PASSWD = '/etc/passwd'

/**
 * The account a task asks for: a name, a number, or `uid:gid`. Fault `task-unstartable` when there
 * is none: running as somebody else instead would be worse than not running.
 */
export async function findUser(wanted: string): Promise<HostUser> {
  const pair = /^(\d{1,10}):(\d{1,10})$/.exec(wanted)
  if (pair !== null) return { name: wanted, uid: Number(pair[1]), gid: Number(pair[2]) }
  const found = parsePasswd(await readFile(PASSWD, 'utf8')).find(
    (user) => user.name === wanted || String(user.uid) === wanted,
  )
  if (found !== undefined) return found
  throw new Fault('task-unstartable', `user ${JSON.stringify(wanted)} does not exist on this node`)
}

export function parsePasswd(text: string): readonly HostUser[] {
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':')
    if (name === undefined || !/^\d+$/.test(uid ?? '') || !/^\d+$/.test(gid ?? '')) return []
    return [{ name, uid: Number(uid), gid: Number(gid) }]
  })
}
