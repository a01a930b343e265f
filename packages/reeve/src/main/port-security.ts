import type { Socket } from 'node:net'
import type { RequestGate } from '../cluster/index.ts'
import { aliasesOf } from '../compat/index.ts'
import type { PortSecurity } from '../http/index.ts'
import { loadTls, peerRoles, roleProblem, type Tls } from '../tls/index.ts'
import type { AgentConfig } from './config/agent-config.ts'

/** Loads the TLS configuration; undefined without TLS. */
export async function openTls(config: AgentConfig): Promise<Tls | undefined> {
  const { tls, region, server } = config
  if (!tls.http && !tls.rpc) return undefined
  return await loadTls({
    region,
    isServer: server.enabled,
    otherDomains: aliasesOf(config.compatibility).certificates.domains,
    isMutual: tls.rpc,
    caFile: tls.caFile,
    certFile: tls.certFile,
    keyFile: tls.keyFile,
    verifiesServerName: tls.verifyServerHostname,
    verifiesCaller: tls.verifyHttpsClient,
    minVersion: tls.minVersion,
    cipherSuites: tls.cipherSuites,
  })
}

/** TLS options of the HTTP server. */
export function portSecurity(tls: Tls): PortSecurity {
  return {
    listenOptions: () => tls.listenOptions(),
    onReload: (changed) => tls.onReload(changed),
    nodeProblem: (socket) =>
      tls.isMutual ? roleProblem(socket, 'client', tls.region, tls.otherDomains) : undefined,
  }
}

/** The members of the gate's options that TLS provides, all of them required. */
type PeerSecurity = Required<
  Pick<ConstructorParameters<typeof RequestGate>[0], 'dialOptions' | 'isClusterPeer'>
>

/** TLS options of connections between servers of a cluster. */
export function peerSecurity(
  tls: Pick<Tls, 'dialOptions' | 'isMutual' | 'otherDomains' | 'region'>,
): PeerSecurity {
  return {
    dialOptions: () => tls.dialOptions(tls.region),
    isClusterPeer: (socket: Socket): boolean =>
      !tls.isMutual || peerRoles(socket, tls.region, tls.otherDomains).has('server'),
  }
}
