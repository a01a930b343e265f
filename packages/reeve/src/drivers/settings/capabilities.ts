import { Fault } from '@reeve/kit/fault.ts'

/** What a task may have unless the node says otherwise. */
export const DEFAULT_CAPS: readonly string[] = [
  'audit_write',
  'chown',
  'dac_override',
  'fowner',
  'fsetid',
  'kill',
  'mknod',
  'net_bind_service',
  'setfcap',
  'setgid',
  'setpcap',
  'setuid',
  'sys_chroot',
]

interface CapsWish {
  /** What a task has that asks for nothing. */
  readonly base: readonly string[]
  readonly add: readonly string[]
  readonly drop: readonly string[]
  /** What the node lets tasks have; `all` is any. */
  readonly allowed: readonly string[]
}

/** The capabilities of a task, sorted, without `CAP_`. Fault `task-config` for one not allowed. */
export function grantedCaps(wish: CapsWish): readonly string[] {
  const allowed = new Set(wish.allowed.map(bareCap))
  const isAllowed = (name: string): boolean => allowed.has('all') || allowed.has(name)
  const added = wish.add.map(bareCap)
  const refused = added.filter((name) => !isAllowed(name))
  if (refused.length > 0) {
    throw new Fault('task-config', `cap_add: this node does not allow ${refused.join(', ')}`)
  }
  const dropped = new Set(wish.drop.map(bareCap))
  const base = dropped.has('all') ? [] : wish.base.map(bareCap).filter(isAllowed)
  const kept = [...base.filter((name) => !dropped.has(name)), ...added]
  return [...new Set(kept)].toSorted()
}

/** `CAP_NET_RAW`, `net_raw` and `NET_RAW` are the same. */
function bareCap(name: string): string {
  const bare = name.toLowerCase().replace(/^cap_/, '')
  if (/^[a-z][a-z_]{0,30}$/.test(bare)) return bare
  throw new Fault('task-config', `${JSON.stringify(name)} is not the name of a capability`)
}
