import { v1Routes, type AgentMember } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type Refusal } from '../../model/index.ts'
import { EMPTY_RESPONSE, json } from '../answer.ts'
import type { AgentInfo } from './agent.ts'
import { unknownServer } from './agent-diagnosis.ts'
import { read, type Endpoint } from './endpoint.ts'
import { unwatchedRead } from './node-answer.ts'
import { agentRead, agentWrite } from './requirements.ts'

/** Addresses per request: a cluster has a handful of servers. */
const ADDRESSES_MAX = 64

/**
 * Returns the routes for the servers that a node connects to and for the members of the cluster.
 */
export function agentServerEndpoints(agent: AgentInfo): readonly Endpoint[] {
  return [
    read(v1Routes.listAgentServers, agentRead, () =>
      unwatchedRead(async () => ok(json(agent.nodeServers()?.list() ?? agent.peers()))),
    ),
    read(v1Routes.setAgentServers, agentWrite, ({ query }) =>
      unwatchedRead(async () => {
        const addresses = parseAddresses(query.address)
        if (!addresses.ok) return addresses
        const servers = agent.nodeServers()
        if (servers === undefined) return err(NO_NODE)
        const problem = await servers.set(addresses.value)
        return problem === undefined ? ok(EMPTY_RESPONSE) : err(refusal('invalid-input', problem))
      }),
    ),
    read(v1Routes.joinAgent, agentWrite, ({ query }) =>
      unwatchedRead(async () => {
        const addresses = parseAddresses(query.address)
        return addresses.ok ? ok(json(joinResult(agent.members(), addresses.value))) : addresses
      }),
    ),
    read(v1Routes.forceLeaveAgent, agentWrite, ({ query }) =>
      unwatchedRead(async () => {
        const name = query.node ?? ''
        if (name === '') return err(refusal('invalid-input', 'missing node to force leave'))
        const outcome = await agent.forceLeave(name, query.prune ?? false)
        if (outcome === 'done') return ok(EMPTY_RESPONSE)
        return err(outcome === 'unknown' ? unknownServer(name) : aliveRefusal(name))
      }),
    ),
  ]
}

const NO_NODE = refusal(
  'node-not-enabled',
  'this agent does not run a node: send the request to a client agent',
)

function aliveRefusal(name: string): Refusal {
  const text =
    `server ${JSON.stringify(name)} is alive: only failed servers can be forced to leave. ` +
    'Stop it, and it leaves the cluster.'
  return refusal('invalid-input', text)
}

function parseAddresses(values: readonly string[] | undefined): Result<readonly string[], Refusal> {
  const addresses = (values ?? []).filter((address) => address !== '')
  if (addresses.length === 0) return err(refusal('invalid-input', 'missing server address'))
  if (addresses.length <= ADDRESSES_MAX) return ok(addresses)
  return err(refusal('invalid-input', `at most ${ADDRESSES_MAX} addresses can be given`))
}

/**
 * Reports which addresses are members. Servers join through the shared database, so nothing is
 * changed.
 */
function joinResult(members: readonly AgentMember[], addresses: readonly string[]) {
  const memberNames = new Set(
    members
      .filter(({ Status }) => Status === 'alive')
      .flatMap(({ Addr, Port, Name }) => {
        const host = Addr.includes(':') ? `[${Addr}]` : Addr
        return [`${host}:${Port}`, Addr, Name]
      }),
  )
  const nonMembers = addresses.filter(
    (address) => !memberNames.has(address.replace(/^\w+:\/\//, '')),
  )
  const error = nonMembers.map((address) => `${address} ${NOT_A_MEMBER}`).join('; ')
  return { num_joined: addresses.length - nonMembers.length, error }
}

const NOT_A_MEMBER =
  'is no live member of this cluster: servers join it by starting with the same database ' +
  '(server.database)'
