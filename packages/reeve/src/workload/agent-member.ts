import type { AgentMember } from '@reeve/contract'

/** There is one version of the protocol between servers: HTTP as the contract has it. */
const PROTOCOL = {
  ProtocolMin: 1,
  ProtocolMax: 1,
  ProtocolCur: 1,
  DelegateMin: 1,
  DelegateMax: 1,
  DelegateCur: 1,
}

export interface AgentMemberParts extends Pick<AgentMember, 'Status' | 'Tags'> {
  /** Without its region; its address where nobody has told a name. */
  readonly name: string
  readonly region: string
  /** `host:port`. */
  readonly address: string
}

/** A server as `/v1/agent/members` shows it. */
export function agentMember({ name, region, address, ...rest }: AgentMemberParts): AgentMember {
  const colon = address.lastIndexOf(':')
  return {
    Name: `${name}.${region}`,
    // An IPv6 address stands in brackets only before a port.
    Addr: address.slice(0, colon).replace(/^\[(.*)\]$/, '$1'),
    Port: Number(address.slice(colon + 1)),
    ...rest,
    ...PROTOCOL,
  }
}
