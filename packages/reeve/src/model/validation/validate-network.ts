import type { NetworkResource, Port, TaskGroup } from '@reeve/contract'
import { PORT_MAX } from '../limits.ts'
import {
  concatIssues,
  forEachEntry,
  issue,
  quote,
  issueIf,
  type ValidationIssue,
} from './validation-issue.ts'

const HOSTNAME_CHARS_MAX = 254
const HOSTNAME_LABEL = /^[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/

/**
 * Validates networks. Ports must be unique by label and, if static, by number within the whole
 * group.
 */
export function checkNetworks(group: TaskGroup, path: string): readonly ValidationIssue[] {
  const taken: TakenPorts = { labels: new Map(), numbers: new Map() }
  return concatIssues(
    forEachEntry(group.Networks, `${path}.Networks`, (network, at) =>
      checkNetwork(network, at, { taken, owner: 'taskgroup network' }),
    ),
    forEachEntry(group.Tasks, `${path}.Tasks`, (task, taskPath) =>
      forEachEntry(task.Resources.Networks, `${taskPath}.Resources.Networks`, (network, at) =>
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
  /** Label of each static port by host network and number. */
  readonly numbers: Map<string, string>
}

interface PortOwner {
  readonly taken: TakenPorts
  readonly owner: string
}

function checkNetwork(
  network: NetworkResource,
  path: string,
  owner: PortOwner,
): readonly ValidationIssue[] {
  const { Hostname: hostname, CNI: cni, Mode: mode } = network
  const badArgument = Object.entries(cni?.Args ?? {}).some((pair) => pair.join('').includes(';'))
  return concatIssues(
    forEachEntry(network.ReservedPorts, `${path}.ReservedPorts`, (port, at) =>
      checkPort(port, at, { ...owner, mode }),
    ),
    forEachEntry(network.DynamicPorts, `${path}.DynamicPorts`, (port, at) =>
      checkPort(port, at, { ...owner, mode }),
    ),
    issueIf(
      badArgument &&
        issue(`${path}.CNI.Args`, 'CNI argument keys and values must not contain a semicolon'),
    ),
    issueIf(
      hostname !== '' &&
        !hostname.includes('${') &&
        !isHostname(hostname) &&
        issue(`${path}.Hostname`, 'Hostname is not a valid DNS name'),
    ),
  )
}

function checkPort(
  port: Port,
  path: string,
  { taken, owner, mode }: PortOwner & { readonly mode: string },
): readonly ValidationIssue[] {
  const { Label: label, Value: value, To: to, IgnoreCollision: ignore } = port
  const sameLabel = taken.labels.get(label)
  if (sameLabel === undefined) taken.labels.set(label, owner)
  const number = `${port.HostNetwork}:${value}`
  const sameNumber = value === 0 ? undefined : taken.numbers.get(number)
  if (value !== 0 && sameNumber === undefined) taken.numbers.set(number, `${owner}:${label}`)
  const isHostMode = mode === '' || mode === 'host'
  return concatIssues(
    issueIf(label === '' && issue(`${path}.Label`, 'Port label cannot be empty')),
    issueIf(
      sameLabel !== undefined &&
        issue(`${path}.Label`, `Port label ${label} already in use by ${sameLabel}`),
    ),
    issueIf(
      sameNumber !== undefined &&
        !ignore &&
        issue(`${path}.Value`, `Static port ${value} already reserved by ${sameNumber}`),
    ),
    issueIf(
      value > PORT_MAX &&
        issue(`${path}.Value`, `Port ${label} (${value}) cannot be greater than ${PORT_MAX}`),
    ),
    issueIf(value < 0 && issue(`${path}.Value`, `Port ${label} (${value}) cannot be negative`)),
    issueIf(
      to < -1 &&
        issue(`${path}.To`, `Port ${quote(label)} cannot be mapped to negative value ${to}`),
    ),
    issueIf(
      to > PORT_MAX &&
        issue(
          `${path}.To`,
          `Port ${quote(label)} cannot be mapped to a port (${to}) greater than ${PORT_MAX}`,
        ),
    ),
    issueIf(
      ignore &&
        !isHostMode &&
        issue(
          `${path}.IgnoreCollision`,
          `Port ${quote(label)} collision may not be ignored on non-host network mode ${quote(mode)}`,
        ),
    ),
  )
}

function portsOf(network: NetworkResource): readonly Port[] {
  return [...(network.ReservedPorts ?? []), ...(network.DynamicPorts ?? [])]
}

function isHostname(hostname: string): boolean {
  const name = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname
  return (
    name.length <= HOSTNAME_CHARS_MAX &&
    name.split('.').every((label) => HOSTNAME_LABEL.test(label))
  )
}
