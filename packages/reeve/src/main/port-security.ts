import type { Socket } from 'node:net'
import { aliasesOf } from '../compat/index.ts'
import type { PortSecurity } from '../http/index.ts'
import { loadTls, peerRoles, roleProblem, type Tls } from '../tls/index.ts'
import type { AgentConfig } from './config/agent-config.ts'

/** What the settings say about encryption; undefined where nothing is encrypted. */
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

/** The same as the HTTP side asks for it. */
export function portSecurity(tls: Tls): PortSecurity {
  return {
    listenOptions: () => tls.listenOptions(),
    onReload: (changed) => tls.onReload(changed),
    nodeProblem: (socket) =>
      tls.isMutual ? roleProblem(socket, 'client', tls.region, tls.otherDomains) : undefined,
  }
}

/** The same as servers that share a state ask for it. */
export function peerSecurity(tls: Tls) {
  return {
    dialOptions: () => tls.dialOptions(tls.region),
    mayBeServer: (socket: Socket): boolean =>
      !tls.isMutual || peerRoles(socket, tls.region, tls.otherDomains).has('server'),
  }
}
