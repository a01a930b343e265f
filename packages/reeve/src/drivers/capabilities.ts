import { Fault } from '@reeve/kit/fault.ts'

/** Capabilities that a node allows by default. */
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

interface CapabilityRequest {
  /** Capabilities of a task that adds and drops none. */
  readonly defaults: readonly string[]
  readonly add: readonly string[]
  readonly drop: readonly string[]
  /** Capabilities that the node allows; `all` allows any. */
  readonly allowed: readonly string[]
}

/**
 * Returns the capabilities of a task, sorted and without `CAP_`. Fault `task-config` if one is not
 * allowed.
 */
export function grantedCapabilities(request: CapabilityRequest): readonly string[] {
  const allowed = new Set(request.allowed.map(normalizeCapability))
  const isAllowed = (name: string): boolean => allowed.has('all') || allowed.has(name)
  const added = request.add.map(normalizeCapability)
  const denied = added.filter((name) => !isAllowed(name))
  if (denied.length > 0) {
    throw new Fault('task-config', `cap_add: this node does not allow ${denied.join(', ')}`)
  }
  const dropped = new Set(request.drop.map(normalizeCapability))
  const base = dropped.has('all') ? [] : request.defaults.map(normalizeCapability).filter(isAllowed)
  const granted = [...base.filter((name) => !dropped.has(name)), ...added]
  return [...new Set(granted)].toSorted()
}

/** `CAP_NET_RAW`, `net_raw` and `NET_RAW` are the same. */
function normalizeCapability(name: string): string {
  const normalized = name.toLowerCase().replace(/^cap_/, '')
  if (/^[a-z][a-z_]{0,30}$/.test(normalized)) return normalized
  throw new Fault('task-config', `${JSON.stringify(name)} is not the name of a capability`)
}
