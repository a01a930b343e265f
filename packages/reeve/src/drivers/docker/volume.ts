import { Fault } from '@reeve/kit/fault.ts'

/** One entry of `volumes`: `source:target[:options]`. */
interface VolumeEntry {
  readonly source: string
  /** Absolute, inside the container. */
  readonly target: string
  /** Joined by commas; empty: the engine's defaults. */
  readonly options: string
}

/**
 * What the option text of a volume may hold. Engines know more, some of which mount further host
 * directories (`O,upperdir=…`) or change their owner (`U`), so anything else is rejected.
 */
const ALLOWED_VOLUME_OPTIONS: ReadonlySet<string> = new Set([
  'ro',
  'rw',
  'z',
  'Z',
  'nocopy',
  'private',
  'rprivate',
  'shared',
  'rshared',
  'slave',
  'rslave',
])

/** Fault `task-config` for what is not a volume, or has an option that is not allowed. */
export function parseVolume(volume: string): VolumeEntry {
  const name = JSON.stringify(volume)
  const [source = '', target = '', options = '', ...extraParts] = volume.split(':')
  if (source === '' || !target.startsWith('/') || extraParts.length > 0) {
    throw new Fault('task-config', `volumes: ${name} is not source:target or source:target:options`)
  }
  // The engine would take them; tables of mounts and logs are read line by line.
  if (/\p{Cc}/u.test(volume)) {
    throw new Fault('task-config', `volumes: ${name} holds control characters`)
  }
  const unknownOption =
    options === ''
      ? undefined
      : options.split(',').find((option) => !ALLOWED_VOLUME_OPTIONS.has(option))
  if (unknownOption === undefined) return { source, target, options }
  throw new Fault(
    'task-config',
    `volumes: the option ${JSON.stringify(unknownOption)} of ${name} is not allowed; ` +
      `allowed are ${[...ALLOWED_VOLUME_OPTIONS].join(', ')}`,
  )
}

/** Adds the label that the node gives all its volumes, unless the volume has one of its own. */
export function addSelinuxLabel(bind: string, label: string): string {
  if (label === '') return bind
  const [source = '', target = '', options = ''] = bind.split(':')
  const parts = options === '' ? [] : options.split(',')
  if (parts.includes('z') || parts.includes('Z')) return bind
  return [source, target, [...parts, label].join(',')].join(':')
}
