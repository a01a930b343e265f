import type { AgentMember } from '@reeve/contract'

/** The protocol between servers has one version: the HTTP API of the contract. */
const PROTOCOL = {
  ProtocolMin: 1,
  ProtocolMax: 1,
  ProtocolCur: 1,
  DelegateMin: 1,
  DelegateMax: 1,
  DelegateCur: 1,
}

export interface ServerInfo extends Pick<AgentMember, 'Status' | 'Tags'> {
  /** Name without region; the address if no name is known. */
  readonly name: string
  readonly region: string
  /** `host:port`. */
  readonly address: string
}

/** Returns a server in the format of `/v1/agent/members`. */
export function agentMember({ name, region, address, ...rest }: ServerInfo): AgentMember {
  const colon = address.lastIndexOf(':')
  return {
    Name: `${name}.${region}`,
    // An IPv6 address has brackets only before a port.
    Addr: address.slice(0, colon).replace(/^\[(.*)\]$/, '$1'),
    Port: Number(address.slice(colon + 1)),
    ...rest,
    ...PROTOCOL,
  }
}
