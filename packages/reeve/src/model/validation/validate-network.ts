import type { NetworkResource, Port, TaskGroup } from '@reeve/contract'
import { allOf, each, finding, quote, when, type Finding } from './finding.ts'

const PORT_MAX = 65_535
const HOSTNAME_CHARS_MAX = 254
const HOSTNAME_LABEL = /^[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/

/**
 * Validates networks. Ports must be unique by label and, if static, by number within the whole
 * group.
 */
export function checkNetworks(group: TaskGroup, path: string): readonly Finding[] {
  const taken: TakenPorts = { labels: new Map(), numbers: new Map() }
  return allOf(
    each(group.Networks, `${path}.Networks`, (network, at) =>
      checkNetwork(network, at, { taken, owner: 'taskgroup network' }),
    ),
    each(group.Tasks, `${path}.Tasks`, (task, taskPath) =>
      each(task.Resources.Networks, `${taskPath}.Resources.Networks`, (network, at) =>
        checkNetwork(network, at, { taken, owner: `task network:${task.Name}` }),
      ),
    ),
  )
}

/** Returns every port label that services of the group may reference. */
export function portLabels(group: TaskGroup): ReadonlySet<string> {
  const networks = [
    ...(group.Networks ?? []),
    ...group.Tasks.flatMap((task) => task.Resources.Networks ?? []),
  ]
  return new Set(networks.flatMap(portsOf).map((port) => port.Label))
}

interface TakenPorts {
  readonly labels: Map<string, string>
  /** By host network and number. */
  readonly numbers: Map<string, string>
}

interface Owner {
  readonly taken: TakenPorts
  readonly owner: string
}

function checkNetwork(network: NetworkResource, path: string, owner: Owner): readonly Finding[] {
  const { Hostname: hostname, CNI: cni, Mode: mode } = network
  const badArgument = Object.entries(cni?.Args ?? {}).some((pair) => pair.join('').includes(';'))
  return allOf(
    each(network.ReservedPorts, `${path}.ReservedPorts`, (port, at) =>
      checkPort(port, at, { ...owner, mode }),
    ),
    each(network.DynamicPorts, `${path}.DynamicPorts`, (port, at) =>
      checkPort(port, at, { ...owner, mode }),
    ),
    when(
      badArgument &&
        finding(`${path}.CNI.Args`, 'CNI argument keys and values must not contain a semicolon'),
    ),
    when(
      hostname !== '' &&
        !hostname.includes('${') &&
        !isHostname(hostname) &&
        finding(`${path}.Hostname`, 'Hostname is not a valid DNS name'),
    ),
  )
}

function checkPort(
  port: Port,
  path: string,
  { taken, owner, mode }: Owner & { readonly mode: string },
): readonly Finding[] {
  const { Label: label, Value: value, To: to, IgnoreCollision: ignore } = port
  const sameLabel = taken.labels.get(label)
  if (sameLabel === undefined) taken.labels.set(label, owner)
  const number = `${port.HostNetwork}:${value}`
  const sameNumber = value === 0 ? undefined : taken.numbers.get(number)
  if (value !== 0 && sameNumber === undefined) taken.numbers.set(number, `${owner}:${label}`)
  const hosted = mode === '' || mode === 'host'
  return allOf(
    when(label === '' && finding(`${path}.Label`, 'Port label cannot be empty')),
    when(
      sameLabel !== undefined &&
        finding(`${path}.Label`, `Port label ${label} already in use by ${sameLabel}`),
    ),
    when(
      sameNumber !== undefined &&
        !ignore &&
        finding(`${path}.Value`, `Static port ${value} already reserved by ${sameNumber}`),
    ),
    when(
      value > PORT_MAX &&
        finding(`${path}.Value`, `Port ${label} (${value}) cannot be greater than ${PORT_MAX}`),
    ),
    when(value < 0 && finding(`${path}.Value`, `Port ${label} (${value}) cannot be negative`)),
    when(
      to < -1 &&
        finding(`${path}.To`, `Port ${quote(label)} cannot be mapped to negative value ${to}`),
    ),
    when(
      to > PORT_MAX &&
        finding(
          `${path}.To`,
          `Port ${quote(label)} cannot be mapped to a port (${to}) greater than ${PORT_MAX}`,
        ),
    ),
    when(
      ignore &&
        !hosted &&
        finding(
          `${path}.IgnoreCollision`,
          `Port ${quote(label)} collision may not be ignored on non-host network mode ${quote(mode)}`,
        ),
    ),
  )
}

function portsOf(network: NetworkResource): readonly Port[] {
  return [...(network.ReservedPorts ?? []), ...(network.DynamicPorts ?? [])]
}

function isHostname(text: string): boolean {
  const name = text.endsWith('.') ? text.slice(0, -1) : text
  return (
    name.length <= HOSTNAME_CHARS_MAX &&
    name.split('.').every((label) => HOSTNAME_LABEL.test(label))
  )
}
