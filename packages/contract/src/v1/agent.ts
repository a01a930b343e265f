import { Type } from 'typebox'
import { route } from '../route.ts'
import { MapOf, type Shape } from '../shape.ts'
import { denied, done, ok, PUT_OR_POST, refused, TEXT_TYPE, WRITE } from './answer.ts'
import { StreamFrame } from './client-fs.ts'
import { Opaque } from './identifier.ts'
import { common, Flag, ReadQuery, Repeated, Text } from './query.ts'

export const AgentHealthPart = Type.Object(
  { ok: Type.Boolean(), message: Type.String() },
  { $id: 'AgentHealthPart' },
)
export type AgentHealthPart = Shape<typeof AgentHealthPart>

/** Reference §8.6. */
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

export const AgentMembers = Type.Object(
  {
    ServerName: Type.String(),
    ServerRegion: Type.String(),
    ServerDC: Type.String(),
    Members: Type.Array(AgentMember),
  },
  { $id: 'AgentMembers' },
)
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

export const AgentJoinResponse = Type.Object(
  { num_joined: Type.Integer(), error: Type.String() },
  { $id: 'AgentJoinResponse' },
)
export type AgentJoinResponse = Shape<typeof AgentJoinResponse>

const section = 'Agent'
const Addresses = Type.Array(Type.String(), { description: '`host:port`' })

export const agentRoutes = {
  readAgentHealth: route({
    id: 'readAgentHealth',
    methods: ['GET'],
    path: '/v1/agent/health',
    answeredBy: 'self',
    summary: 'Say whether the agent that answers is well.',
    section,
    query: Type.Object({
      ...common,
      type: Repeated('`client` or `server`: only this part. May be given twice.'),
    }),
    answers: {
      200: ok(AgentHealth, 'Every part asked for is well.'),
      400: refused('`type` is neither `client` nor `server`.'),
      500: { description: 'One is not.', schema: AgentHealth, contentType: TEXT_TYPE },
    },
    needs: 'none',
  }),
  readAgentSelf: route({
    id: 'readAgentSelf',
    methods: ['GET'],
    path: '/v1/agent/self',
    answeredBy: 'self',
    summary: 'Read configuration and state of the agent that answers.',
    section,
    query: ReadQuery,
    answers: { 200: ok(AgentSelf, 'The agent.'), 403: denied },
    needs: 'agent:read',
  }),
  listAgentMembers: route({
    id: 'listAgentMembers',
    methods: ['GET'],
    path: '/v1/agent/members',
    answeredBy: 'self',
    summary: 'List the servers that the agent knows.',
    section,
    query: ReadQuery,
    answers: { 200: ok(AgentMembers, 'The servers.'), 403: denied },
    needs: 'node:read',
  }),
  listAgentServers: route({
    id: 'listAgentServers',
    methods: ['GET'],
    path: '/v1/agent/servers',
    answeredBy: 'self',
    summary: 'List the servers that a node talks to.',
    section,
    query: ReadQuery,
    answers: {
      200: ok(Addresses, 'Their addresses.'),
      403: denied,
      501: refused('The agent is no node.'),
    },
    needs: 'agent:read',
  }),
  setAgentServers: route({
    id: 'setAgentServers',
    methods: PUT_OR_POST,
    path: '/v1/agent/servers',
    growsState: false,
    answeredBy: 'self',
    summary: 'Say which servers a node talks to.',
    section,
    query: Type.Object({ ...common, address: Repeated('Address of a server; may be repeated.') }),
    answers: {
      200: done('The node follows.'),
      400: refused('No address is given, or none can be reached.'),
      403: denied,
      501: refused('The agent is no node.'),
    },
    needs: 'agent:write',
  }),
  joinAgent: route({
    id: 'joinAgent',
    methods: WRITE,
    path: '/v1/agent/join',
    growsState: false,
    answeredBy: 'self',
    summary: 'Make a server join others.',
    section,
    query: Type.Object({ ...common, address: Repeated('Address of a server; may be repeated.') }),
    answers: {
      200: ok(AgentJoinResponse, 'How many could be joined, and what failed.'),
      400: refused('No address is given.'),
      403: denied,
      501: refused('The agent is no server.'),
    },
    needs: 'agent:write',
  }),
  forceLeaveAgent: route({
    id: 'forceLeaveAgent',
    methods: WRITE,
    path: '/v1/agent/force-leave',
    growsState: false,
    answeredBy: 'self',
    summary: 'Make the servers forget one of them that has failed.',
    section,
    query: Type.Object({
      ...common,
      node: Type.String({ description: 'Name of the server.' }),
      prune: Flag('Remove it from the list too.'),
    }),
    answers: {
      200: done('It is forgotten.'),
      400: refused('No server is named.'),
      403: denied,
    },
    needs: 'agent:write',
  }),
  monitorAgent: route({
    id: 'monitorAgent',
    methods: ['GET'],
    path: '/v1/agent/monitor',
    answeredBy: 'self',
    summary: 'Follow the log of an agent.',
    section,
    query: Type.Object({
      ...common,
      log_level: Type.Optional(
        Type.String({ description: 'The least level that is shown.', default: 'info' }),
      ),
      node_id: Text('The node whose log to follow.'),
      server_id: Text('The server whose log to follow.'),
      log_json: Flag('Lines as JSON.'),
      plain: Flag('Only the text, without frames.'),
    }),
    answers: {
      200: ok(StreamFrame, 'Frames, or text with `plain=true`.'),
      400: refused('The level is unknown, or both a node and a server are named.'),
      403: denied,
      404: refused('The node or server is unknown or cannot be reached.'),
    },
    streams: true,
    needs: 'agent:read',
  }),
  readLeader: route({
    id: 'readLeader',
    methods: ['GET'],
    path: '/v1/status/leader',
    answeredBy: 'self',
    summary: 'Read the address of the leader.',
    section: 'Status',
    query: ReadQuery,
    answers: { 200: ok(Type.String(), 'The address; empty when there is no leader.') },
    needs: 'none',
  }),
  listPeers: route({
    id: 'listPeers',
    methods: ['GET'],
    path: '/v1/status/peers',
    answeredBy: 'self',
    summary: 'List the addresses of the servers.',
    section: 'Status',
    query: ReadQuery,
    answers: { 200: ok(Addresses, 'The addresses.') },
    needs: 'none',
  }),
  listRegions: route({
    id: 'listRegions',
    methods: ['GET'],
    path: '/v1/regions',
    summary: 'List the known regions.',
    section: 'Status',
    query: ReadQuery,
    answers: { 200: ok(Type.Array(Type.String()), 'The names, sorted.') },
    needs: 'none',
  }),
} as const
