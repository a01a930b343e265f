import { Type } from 'typebox'
import { routes } from '../route.ts'
import { ask, put, read, write } from './define.ts'
import { Named, MapOf, type Shape } from '../shape.ts'
import { done, ok, TEXT_TYPE } from './answer.ts'
import { StreamFrame } from './client-fs.ts'
import { Opaque } from './identifier.ts'
import { Flag, Repeated, Text } from './query.ts'

export const AgentHealthPart = Named('AgentHealthPart', {
  ok: Type.Boolean(),
  message: Type.String(),
})

export const AgentHealth = Type.Object(
  { client: Type.Optional(AgentHealthPart), server: Type.Optional(AgentHealthPart) },
  { $id: 'AgentHealth', description: 'Whether the parts of an agent are well.' },
)
export type AgentHealth = Shape<typeof AgentHealth>

export const MEMBER_STATUSES = ['alive', 'leaving', 'left', 'failed'] as const
export type MemberStatus = (typeof MEMBER_STATUSES)[number]

export const AgentMember = Type.Object(
  {
    Name: Type.String(),
    Addr: Type.String(),
    Port: Type.Integer(),
    Tags: MapOf(Type.String()),
    Status: Type.Enum(MEMBER_STATUSES),
    ProtocolMin: Type.Integer(),
    ProtocolMax: Type.Integer(),
    ProtocolCur: Type.Integer(),
    DelegateMin: Type.Integer(),
    DelegateMax: Type.Integer(),
    DelegateCur: Type.Integer(),
  },
  { $id: 'AgentMember', description: 'A server as another one sees it.' },
)
export type AgentMember = Shape<typeof AgentMember>

export const AgentMembers = Named('AgentMembers', {
  ServerName: Type.String(),
  ServerRegion: Type.String(),
  ServerDC: Type.String(),
  Members: Type.Array(AgentMember),
})
export type AgentMembers = Shape<typeof AgentMembers>

export const AgentSelf = Type.Object(
  {
    config: Opaque('The configuration; secrets are shown as `<redacted>`.'),
    stats: MapOf(MapOf(Type.String())),
    member: AgentMember,
  },
  { $id: 'AgentSelf', description: 'The agent that answers.' },
)
export type AgentSelf = Shape<typeof AgentSelf>

export const AgentJoinResponse = Named('AgentJoinResponse', {
  num_joined: Type.Integer(),
  error: Type.String(),
})

const Addresses = Type.Array(Type.String(), { description: '`host:port`' })

export const agentRoutes = {
  ...routes('Agent', {
    readAgentHealth: ask('/agent/health', {
      summary: 'Say whether the agent that answers is well.',
      answeredBy: 'self',
      query: { type: Repeated('`client` or `server`: only this part. May be given twice.') },
      returns: ok(AgentHealth, 'Every part asked for is well.'),
      answers: { 500: { description: 'One is not.', schema: AgentHealth, contentType: TEXT_TYPE } },
      errors: { 400: '`type` is neither `client` nor `server`.' },
      needs: 'none',
    }),
    readAgentSelf: read('/agent/self', {
      summary: 'Read configuration and state of the agent that answers.',
      answeredBy: 'self',
      returns: ok(AgentSelf, 'The agent.'),
      needs: 'agent:read',
    }),
    listAgentMembers: read('/agent/members', {
      summary: 'List the servers that the agent knows.',
      answeredBy: 'self',
      returns: ok(AgentMembers, 'The servers.'),
      needs: 'node:read',
    }),
    listAgentServers: read('/agent/servers', {
      summary: 'List the servers that a node talks to.',
      answeredBy: 'self',
      returns: ok(Addresses, 'Their addresses.'),
      needs: 'agent:read',
    }),
    setAgentServers: put('/agent/servers', {
      summary: 'Say which servers a node talks to.',
      growsState: false,
      answeredBy: 'self',
      query: { address: Repeated('Address of a server; may be repeated.') },
      returns: done('The node follows.'),
      errors: { 400: 'No address is given, or none can be reached.', 501: 'The agent is no node.' },
      needs: 'agent:write',
    }),
    joinAgent: write('/agent/join', {
      summary: 'Make a server join others.',
      growsState: false,
      answeredBy: 'self',
      query: { address: Repeated('Address of a server; may be repeated.') },
      returns: ok(AgentJoinResponse, 'How many could be joined, and what failed.'),
      errors: { 400: 'No address is given.', 501: 'The agent is no server.' },
      needs: 'agent:write',
    }),
    forceLeaveAgent: write('/agent/force-leave', {
      summary: 'Make the servers forget one of them that has failed.',
      growsState: false,
      answeredBy: 'self',
      query: {
        node: Type.String({ description: 'Name of the server.' }),
        prune: Flag('Remove it from the list too.'),
      },
      returns: done('The server is removed.'),
      errors: { 400: 'No server is named.' },
      needs: 'agent:write',
    }),
    monitorAgent: ask('/agent/monitor', {
      summary: 'Follow the log of an agent.',
      answeredBy: 'self',
      streams: true,
      query: {
        log_level: Type.Optional(
          Type.String({ description: 'The least level that is shown.', default: 'info' }),
        ),
        node_id: Text('The node whose log to follow.'),
        server_id: Text('The server whose log to follow.'),
        log_json: Flag('Lines as JSON.'),
        plain: Flag('Only the text, without frames.'),
      },
      returns: ok(StreamFrame, 'Frames, or text with `plain=true`.'),
      errors: {
        400: 'The level is unknown, or both a node and a server are named.',
        404: 'The node or server is unknown or cannot be reached.',
      },
      needs: 'agent:read',
    }),
  }),
  ...routes('Status', {
    readLeader: read('/status/leader', {
      summary: 'Read the address of the leader.',
      answeredBy: 'self',
      returns: ok(Type.String(), 'The address; empty when there is no leader.'),
      needs: 'none',
    }),
    listPeers: read('/status/peers', {
      summary: 'List the addresses of the servers.',
      answeredBy: 'self',
      returns: ok(Addresses, 'The addresses.'),
      needs: 'none',
    }),
    listRegions: read('/regions', {
      summary: 'List the known regions.',
      returns: ok(Type.Array(Type.String()), 'The names, sorted.'),
      needs: 'none',
    }),
  }),
}
