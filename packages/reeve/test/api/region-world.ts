import type { TestContext } from 'node:test'
import type { AclToken } from '@reeve/contract'
import {
  RegionClient,
  RegionConnections,
  RegionDirectory,
  RemoteRegionRouter,
  ReplicationLoop,
  ReplicationStatus,
  RolloutLoop,
  type RegionTls,
} from '../../src/regions/index.ts'
import { agentMember, type RemoteRegions } from '../../src/workload/index.ts'
import { atEnd } from '../build/at-end.ts'
import { createTestServer, type TestServer } from './harness.ts'

/** One region of several: a server in memory with a real port. */
export interface TestRegion {
  readonly name: string
  readonly server: TestServer
  readonly address: string
  readonly gate: RemoteRegionRouter
  readonly directory: RegionDirectory
  readonly client: RegionClient
  /** Fetches from this region's server. */
  fetch(path: string, init?: RequestInit & { readonly token?: string }): Promise<Response>
}

export interface RegionWorldOptions {
  /** On unless said otherwise. */
  readonly aclEnabled?: boolean
  /** The first one unless given. */
  readonly authoritative?: string
  /** Where the region `down` is looked for; nobody is there unless given. */
  readonly downAt?: string
  /** How long other regions may be silent; the real limits unless given. */
  readonly limits?: ConstructorParameters<typeof RemoteRegionRouter>[2]
  /** The address by which the others reach a region, for proxies; its own unless given. */
  readonly through?: (address: string) => Promise<string>
  /** What is shown to servers of other regions, and believed of them. */
  readonly tls?: RegionTls
  /** Addresses that are tried before the real one. */
  readonly deadFirst?: readonly string[]
}

/** Servers of several regions that know each other. A region named `down` has no server. */
export async function aRegionWorld<const Name extends string>(
  t: TestContext,
  names: readonly Name[],
  options: RegionWorldOptions = {},
): Promise<Record<Name, TestRegion>> {
  const { aclEnabled = true, authoritative = names[0] ?? '', deadFirst = [] } = options
  // Filled when the servers have their ports; directories keep the lists that they are given.
  const others = Object.fromEntries(names.map((name): [string, string[]] => [name, []]))
  others['down']?.push(options.downAt ?? 'http://127.0.0.1:1')
  const started: [string, TestRegion][] = []
  for (const name of names.filter((one) => one !== 'down')) {
    const random = { next: () => 0 }
    const directory = new RegionDirectory({
      localRegion: name,
      authoritative,
      remoteRegions: others,
      random,
    })
    const connections = new RegionConnections(options.tls)
    const gate = new RemoteRegionRouter(directory, connections, options.limits)
    const Tags = { role: 'server', region: name }
    const at = { name: 'test', region: name, address: '127.0.0.1:4646' }
    const member = agentMember({ ...at, Tags, Status: 'alive' })
    const agent = {
      region: name,
      regions: () => directory.names,
      member: () => member,
      members: () => [member],
    }
    const idSeed = 1_000_000 * (started.length + 1)
    const client = new RegionClient(directory, connections)
    const otherRegions: RemoteRegions = {
      remoteNames: () => directory.names.filter((one) => directory.isRemote(one)),
      isRemoteRegion: (region) => directory.isRemote(region),
      addressesOf: (region) => directory.addressesOf(region),
      request: (region, call) => client.request(region, { ...call, forwardReason: 'part' }),
    }
    const made = { region: name, aclEnabled, regions: gate, agent, idSeed, otherRegions }
    const server = await createTestServer(made)
    const address = await server.listen()
    others[name]?.push(...deadFirst, (await options.through?.(address)) ?? address)
    atEnd(t, async () => {
      gate.close()
      connections.close()
      await server.close()
    })
    const region: TestRegion = {
      name,
      server,
      address,
      gate,
      directory,
      client,
      fetch: (path, { token, ...init } = {}) =>
        fetch(`${address}${path}`, {
          ...init,
          headers: {
            ...init.headers,
            ...(token === undefined ? {} : { 'x-service-token': token }),
          },
        }),
    }
    started.push([name, region])
  }
  // Every name but `down` was started.
  return Object.fromEntries(started) as Record<Name, TestRegion>
}

/** Keeps copies in a region until the test ends. */
export function replicate(
  t: TestContext,
  region: Omit<TestRegion, 'client'> & { readonly client: Pick<RegionClient, 'request'> },
  token: string,
): ReplicationStatus {
  const { context, clock } = region.server
  const status = new ReplicationStatus(clock, region.directory.authoritative)
  const loop = new ReplicationLoop({
    context,
    client: region.client,
    region: region.directory.authoritative,
    token,
    status,
    log: { info: () => undefined, warn: () => undefined },
  })
  loop.start()
  atEnd(t, () => loop.stop())
  return status
}

/** Regions take turns until the test ends. */
export function takeTurns(t: TestContext, region: TestRegion): void {
  const log = { info: () => undefined, warn: () => undefined }
  const loop = new RolloutLoop({
    context: region.server.context,
    client: region.client,
    token: '',
    log,
  })
  loop.start()
  atEnd(t, () => loop.stop())
}

export async function bootstrap(region: TestRegion): Promise<AclToken> {
  return await region.server.ok('bootstrapAcl')
}
