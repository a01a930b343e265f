import { Type } from 'typebox'
import { routes } from '../route.ts'
import { unreplicatedRead, put, read, write } from './define.ts'
import { Named, MapOf, type Infer } from '../schema.ts'
import {
  emptyResponse,
  jsonResponse,
  nodeTimeout,
  OpaqueObject,
  TEXT_TYPE,
} from './shared-schemas.ts'
import { StreamFrame } from './client-fs.ts'
import { FlagParameter, RepeatedParameter, TextParameter } from './query.ts'

export const AgentHealthPart = Named('AgentHealthPart', {
  ok: Type.Boolean(),
  message: Type.String(),
})

export const AgentHealth = Named('AgentHealth', 'Whether the parts of an agent are well.', {
  client: Type.Optional(AgentHealthPart),
  server: Type.Optional(AgentHealthPart),
})
export type AgentHealth = Infer<typeof AgentHealth>

export const MEMBER_STATUSES = ['alive', 'leaving', 'left', 'failed'] as const
export type MemberStatus = (typeof MEMBER_STATUSES)[number]

export const AgentMember = Named('AgentMember', 'A server as another one sees it.', {
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
})
export type AgentMember = Infer<typeof AgentMember>

export const AgentMembers = Named('AgentMembers', {
  ServerName: Type.String(),
  ServerRegion: Type.String(),
  ServerDC: Type.String(),
  Members: Type.Array(AgentMember),
})
export type AgentMembers = Infer<typeof AgentMembers>

export const AgentSelf = Named('AgentSelf', 'The agent that answers.', {
  config: OpaqueObject('The configuration; secrets are shown as `<redacted>`.'),
  stats: MapOf(MapOf(Type.String())),
  member: AgentMember,
})
export type AgentSelf = Infer<typeof AgentSelf>

export const AgentJoinResponse = Named('AgentJoinResponse', {
  num_joined: Type.Integer(),
  error: Type.String(),
})

/** The lowest level of the lines that are followed; `trace` is the same as `debug`. */
export const FOLLOWED_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type FollowedLevel = (typeof FOLLOWED_LEVELS)[number]

const DiskUse = Named('DiskUse', { DiskMB: Type.Integer(), UsedMB: Type.Integer() })

export const HostData = Type.Object(
  {
    OS: Type.String(),
    Network: Type.Array(MapOf(Type.String()), {
      description: 'Addresses of the machine: `interface`, `address`, `netmask`, `family`, `mac`.',
    }),
    ResolvConf: Type.String({ description: '`/etc/resolv.conf`, truncated where it is long.' }),
    Hosts: Type.String({ description: '`/etc/hosts`, truncated where it is long.' }),
    Environment: MapOf(Type.String()),
    Disk: MapOf(DiskUse),
  },
  {
    $id: 'HostData',
    description:
      'The machine of an agent, for diagnosis. `Environment` has `<redacted>` for every variable ' +
      'that is not known to be harmless; `Disk` has the root and the data directory, by path.',
  },
)
export type HostData = Infer<typeof HostData>

export const AgentHostResponse = Named('AgentHostResponse', {
  AgentID: Type.String({ description: 'The node, or the name of the server.' }),
  HostData,
})
export type AgentHostResponse = Infer<typeof AgentHostResponse>

const Addresses = Type.Array(Type.String(), { description: '`host:port`' })

/** Routes about one agent: the one that answers, another server, or a node. */
const agentQuery = {
  node_id: TextParameter('The node, in place of a server.'),
  server_id: TextParameter('Name of the server, or `leader`; the server that answers when empty.'),
}
const agentErrors = {
  400: 'Both a node and a server are named, or a parameter is invalid.',
  404: 'The node or server is unknown or cannot be reached.',
}

export const agentRoutes = {
  ...routes('Agent', {
    readAgentHealth: unreplicatedRead('/agent/health', {
      summary: 'Say whether the agent that answers is well.',
      answeredBy: 'self',
      query: {
        type: RepeatedParameter('`client` or `server`: only this part. May be given twice.'),
      },
      returns: jsonResponse(AgentHealth, 'Every part asked for is well.'),
      answers: { 500: { description: 'One is not.', schema: AgentHealth, contentType: TEXT_TYPE } },
      errors: { 400: '`type` is neither `client` nor `server`.' },
      needs: 'none',
    }),
    readAgentSelf: read('/agent/self', {
      summary: 'Read configuration and state of the agent that answers.',
      answeredBy: 'self',
      returns: jsonResponse(AgentSelf, 'The agent.'),
      needs: 'agent:read',
    }),
    listAgentMembers: read('/agent/members', {
      summary: 'List the servers that the agent knows.',
      answeredBy: 'self',
      returns: jsonResponse(AgentMembers, 'The servers.'),
      needs: 'node:read',
    }),
    listAgentServers: read('/agent/servers', {
      summary: 'List the servers that the node of this agent connects to.',
      answeredBy: 'self',
      returns: jsonResponse(Addresses, 'Their addresses; those of the cluster where no node runs.'),
      needs: 'agent:read',
    }),
    setAgentServers: put('/agent/servers', {
      summary: 'Set the servers that the node of this agent connects to, until it restarts.',
      growsState: false,
      answeredBy: 'self',
      audit: 'always',
      query: { address: RepeatedParameter('Address of a server; may be repeated.') },
      returns: emptyResponse('The node uses them for its next connection.'),
      errors: {
        400: 'No address is given, one is invalid, or none can be reached.',
        501: 'The agent runs no node.',
      },
      needs: 'agent:write',
    }),
    joinAgent: write('/agent/join', {
      summary:
        'Confirm that servers are members of the cluster; servers join through their database.',
      growsState: false,
      answeredBy: 'self',
      audit: 'none',
      query: { address: RepeatedParameter('Address of a server; may be repeated.') },
      returns: jsonResponse(AgentJoinResponse, 'How many are members, and why the others are not.'),
      errors: { 400: 'No address is given.' },
      needs: 'agent:write',
    }),
    forceLeaveAgent: write('/agent/force-leave', {
      summary: 'Mark a failed server as left, or remove it from the list.',
      growsState: false,
      answeredBy: 'self',
      audit: 'always',
      query: {
        node: Type.Optional(Type.String({ description: 'Name of the server; required.' })),
        prune: FlagParameter('Remove it from the list.'),
      },
      returns: emptyResponse('The server is marked as left, or removed.'),
      errors: { 400: 'No server is named, or it is alive.', 404: 'The server is unknown.' },
      needs: 'agent:write',
    }),
    monitorAgent: unreplicatedRead('/agent/monitor', {
      summary: 'Follow the log of an agent.',
      answeredBy: 'named',
      streams: true,
      query: {
        log_level: Type.Optional(
          Type.String({
            description: 'The lowest level: `debug`, `info`, `warn` or `error`.',
            default: 'info',
          }),
        ),
        ...agentQuery,
        log_json: FlagParameter('Lines as JSON.'),
        plain: FlagParameter('Only the text, without frames.'),
      },
      returns: jsonResponse(
        StreamFrame,
        'Frames, or text with `plain=true`. Lines that a slow reader misses are counted in a line.',
      ),
      answers: { 504: nodeTimeout },
      errors: agentErrors,
      needs: 'agent:read',
    }),
    readAgentHost: unreplicatedRead('/agent/host', {
      summary: 'Read data of the machine of an agent, for diagnosis.',
      answeredBy: 'named',
      query: agentQuery,
      returns: jsonResponse(AgentHostResponse, 'The machine; no secrets are included.'),
      answers: { 504: nodeTimeout },
      errors: agentErrors,
      needs: 'agent:read',
    }),
  }),
  ...routes('Status', {
    readLeader: read('/status/leader', {
      summary: 'Read the address of the leader.',
      answeredBy: 'self',
      returns: jsonResponse(Type.String(), 'The address; empty when there is no leader.'),
      needs: 'none',
    }),
    listPeers: read('/status/peers', {
      summary: 'List the addresses of the servers.',
      answeredBy: 'self',
      returns: jsonResponse(Addresses, 'The addresses.'),
      needs: 'none',
    }),
    listRegions: read('/regions', {
      summary: 'List the known regions.',
      returns: jsonResponse(Type.Array(Type.String()), 'The names, sorted.'),
      needs: 'none',
    }),
  }),
}
