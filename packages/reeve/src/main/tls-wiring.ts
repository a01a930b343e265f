import type { Socket } from 'node:net'
import type { ClusterRequestRouter } from '../cluster/index.ts'
import { aliasesOf } from '../compat/index.ts'
import type { ListenerTls } from '../http/index.ts'
import { loadTls, peerRoles, roleProblem, type TlsCredentials } from '../tls/index.ts'
import type { AgentConfig } from './config/agent-config.ts'

/** Loads the TLS configuration; undefined without TLS. */
export async function openTls(config: AgentConfig): Promise<TlsCredentials | undefined> {
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
    requiresClientCert: tls.verifyHttpsClient,
    minVersion: tls.minVersion,
    cipherSuites: tls.cipherSuites,
  })
}

/** TLS options of the HTTP server. */
export function httpTlsOptions(tls: TlsCredentials): ListenerTls {
  return {
    secureContextOptions: () => tls.listenOptions(),
    onReload: (changed) => tls.onReload(changed),
    nodeProblem: (socket) =>
      tls.isMutual ? roleProblem(socket, 'client', tls.region, tls.otherDomains) : undefined,
  }
}

/** Options of the request gate that TLS provides. */
type PeerSecurity = Required<
  Pick<ConstructorParameters<typeof ClusterRequestRouter>[0], 'dialOptions' | 'isClusterPeer'>
>

/** TLS options of connections between servers of a cluster. */
export function peerTlsOptions(
  tls: Pick<TlsCredentials, 'dialOptions' | 'isMutual' | 'otherDomains' | 'region'>,
): PeerSecurity {
  return {
    dialOptions: () => tls.dialOptions(tls.region),
    isClusterPeer: (socket: Socket): boolean =>
      !tls.isMutual || peerRoles(socket, tls.region, tls.otherDomains).has('server'),
  }
}
