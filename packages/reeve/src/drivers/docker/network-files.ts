import { join } from 'node:path'
import type { TaskLaunch } from '../../agent/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { hostsFileContent, resolvConfContent } from '../resolver-files.ts'
import type { DockerConfig } from './docker-config.ts'
import { parseVolume } from './container-mounts.ts'

/** A file that is mounted over one that the engine creates. */
interface NetworkFile {
  /** Path on the host. */
  readonly path: string
  readonly target: string
  readonly text: string
}

/**
 * Creates `/etc/hosts` and similar files of a container that joins the network of another one.
 * Engines accept no host names and DNS servers for it and give it the files of the other container,
 * so these are mounted over them. Files that the task mounts itself are omitted.
 */
export function buildNetworkFiles(
  launch: TaskLaunch,
  config: DockerConfig,
): readonly NetworkFile[] {
  const { dir } = launch.handle
  const { dns } = launch.network
  const { dnsServers, dnsSearches, dnsOptions, extraHosts } = config.network
  const hosts = [...launch.network.hosts, ...extraHosts.map(parseHostEntry)]
  const dnsSettings = {
    servers: dnsServers ?? dns?.servers ?? [],
    searches: dnsSearches ?? dns?.searches ?? [],
    options: dnsOptions ?? dns?.options ?? [],
  }
  const hasDnsSettings = Object.values(dnsSettings).some((list) => list.length > 0)
  const files = [
    {
      path: join(dir, 'hosts'),
      target: '/etc/hosts',
      text: hostsFileContent(networkHostnameOf(launch), { hosts }),
    },
    ...(hasDnsSettings
      ? [
          {
            path: join(dir, 'resolv.conf'),
            target: '/etc/resolv.conf',
            text: resolvConfContent(dnsSettings),
          },
        ]
      : []),
  ]
  const { volumes, mounts } = config.storage
  const mountedTargets = new Set([
    ...volumes.map((volume) => parseVolume(volume).target),
    ...mounts.map(({ target }) => target),
    ...launch.mounts.map(({ taskPath }) => taskPath),
  ])
  return files.filter(({ target }) => !mountedTargets.has(target))
}

/**
 * Returns the host name of all containers of the allocation, which share the network and its name.
 */
export function networkHostnameOf({ network, handle }: TaskLaunch): string {
  return network.hostname === '' ? handle.allocationId.slice(0, 8) : network.hostname
}

/** Parses `name:address`, the format of engines. */
function parseHostEntry(entry: string): { readonly address: string; readonly names: [string] } {
  const colon = entry.indexOf(':')
  const [name, address] = [entry.slice(0, colon), entry.slice(colon + 1).replace(/^\[|\]$/g, '')]
  if (colon > 0 && /^[0-9A-Fa-f.:]+$/.test(address) && !/\s/.test(name)) {
    return { address, names: [name] }
  }
  throw new Fault(
    'task-config',
    `extra_hosts: ${JSON.stringify(entry)} is not name:address; in the network of an allocation ` +
      'the container engine resolves no other form',
  )
}

/** Rejects settings of the network that a container joining it cannot have. Fault `task-config`. */
export function rejectContainerNetworkSettings({ process, network }: DockerConfig): void {
  const { mac, ipv4, ipv6, aliases } = network
  const conflictingSettings = [
    ...(process.hostname === undefined ? [] : ['hostname']),
    ...(mac === undefined ? [] : ['mac_address']),
    ...(ipv4 === undefined ? [] : ['ipv4_address']),
    ...(ipv6 === undefined ? [] : ['ipv6_address']),
    ...(aliases.length === 0 ? [] : ['network_aliases']),
  ]
  if (conflictingSettings.length === 0) return
  const advice =
    conflictingSettings[0] === 'hostname' ? 'set hostname in the network block of the group' : ''
  throw new Fault(
    'task-config',
    `${conflictingSettings.join(', ')}: the container shares the network of its allocation, which has one ` +
      `name and one address; ${advice || 'leave it out, or set network_mode'}`,
  )
}
