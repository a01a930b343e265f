import * as t from './shared-schemas.ts'
import { operate, unreplicatedRead, put, read, routes } from './define.ts'
import { StreamFrame } from './client-fs.ts'

export const AgentHealthPart = t.Named('AgentHealthPart', { ok: t.Boolean(), message: t.String() })

export const AgentHealth = t.Named('AgentHealth', 'Whether the parts of an agent are well.', {
  client: t.Optional(AgentHealthPart),
  server: t.Optional(AgentHealthPart),
})
export type AgentHealth = t.Infer<typeof AgentHealth>

export const MEMBER_STATUSES = ['alive', 'leaving', 'left', 'failed'] as const
export type MemberStatus = (typeof MEMBER_STATUSES)[number]

export const AgentMember = t.Named('AgentMember', 'A server as another one sees it.', {
  Name: t.String(),
  Addr: t.String(),
  Port: t.Integer(),
  Tags: t.MapOf(t.String()),
  Status: t.Enum(MEMBER_STATUSES),
  ProtocolMin: t.Integer(),
  ProtocolMax: t.Integer(),
  ProtocolCur: t.Integer(),
  DelegateMin: t.Integer(),
  DelegateMax: t.Integer(),
  DelegateCur: t.Integer(),
})
export type AgentMember = t.Infer<typeof AgentMember>

export const AgentMembers = t.Named('AgentMembers', {
  ServerName: t.String(),
  ServerRegion: t.String(),
  ServerDC: t.String(),
  Members: t.Array(AgentMember),
})
export type AgentMembers = t.Infer<typeof AgentMembers>

export const AgentSelf = t.Named('AgentSelf', 'The agent that answers.', {
  config: t.OpaqueObject('The configuration; secrets are shown as `<redacted>`.'),
  stats: t.MapOf(t.MapOf(t.String())),
  member: AgentMember,
})

export const AgentJoinResponse = t.Named('AgentJoinResponse', {
  num_joined: t.Integer(),
  error: t.String(),
})

/** The lowest level of the lines that are followed; `trace` is the same as `debug`. */
export const FOLLOWED_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type FollowedLevel = (typeof FOLLOWED_LEVELS)[number]

const DiskUse = t.Named('DiskUse', { DiskMB: t.Integer(), UsedMB: t.Integer() })

export const HostData = t.Object(
  {
    OS: t.String(),
    Network: t.Array(t.MapOf(t.String()), {
      description: 'Addresses of the machine: `interface`, `address`, `netmask`, `family`, `mac`.',
    }),
    ResolvConf: t.String({ description: '`/etc/resolv.conf`, truncated where it is long.' }),
    Hosts: t.String({ description: '`/etc/hosts`, truncated where it is long.' }),
    Environment: t.MapOf(t.String()),
    Disk: t.MapOf(DiskUse),
  },
  {
    $id: 'HostData',
    description:
      'The machine of an agent, for diagnosis. `Environment` has `<redacted>` for every variable ' +
      'that is not known to be harmless; `Disk` has the root and the data directory, by path.',
  },
)
export type HostData = t.Infer<typeof HostData>

export const AgentHostResponse = t.Named('AgentHostResponse', {
  AgentID: t.String({ description: 'The node, or the name of the server.' }),
  HostData,
})

const Addresses = t.Array(t.String(), { description: '`host:port`' })

/** Routes about one agent: the one that answers, another server, or a node. */
const agentQuery = {
  node_id: t.TextParameter('The node, in place of a server.'),
  server_id: t.TextParameter(
    'Name of the server, or `leader`; the server that answers when empty.',
  ),
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
        type: t.RepeatedParameter('`client` or `server`: only this part. May be given twice.'),
      },
      returns: t.jsonResponse(AgentHealth, 'Every part asked for is well.'),
      answers: {
        500: { description: 'One is not.', schema: AgentHealth, contentType: t.TEXT_TYPE },
      },
      errors: { 400: '`type` is neither `client` nor `server`.' },
      needs: 'none',
    }),
    readAgentSelf: read('/agent/self', {
      summary: 'Read configuration and state of the agent that answers.',
      answeredBy: 'self',
      returns: t.jsonResponse(AgentSelf, 'The agent.'),
      needs: 'agent:read',
    }),
    listAgentMembers: read('/agent/members', {
      summary: 'List the servers that the agent knows.',
      answeredBy: 'self',
      returns: t.jsonResponse(AgentMembers, 'The servers.'),
      needs: 'node:read',
    }),
    listAgentServers: read('/agent/servers', {
      summary: 'List the servers that the node of this agent connects to.',
      answeredBy: 'self',
      returns: t.jsonResponse(
        Addresses,
        'Their addresses; those of the cluster where no node runs.',
      ),
      needs: 'agent:read',
    }),
    setAgentServers: put('/agent/servers', {
      summary: 'Set the servers that the node of this agent connects to, until it restarts.',
      growsState: false,
      answeredBy: 'self',
      audit: 'always',
      query: { address: t.RepeatedParameter('Address of a server; may be repeated.') },
      returns: t.emptyResponse('The node uses them for its next connection.'),
      errors: {
        400: 'No address is given, one is invalid, or none can be reached.',
        501: 'The agent runs no node.',
      },
      needs: 'agent:write',
    }),
    joinAgent: operate('/agent/join', {
      summary:
        'Confirm that servers are members of the cluster; servers join through their database.',
      answeredBy: 'self',
      audit: 'none',
      query: { address: t.RepeatedParameter('Address of a server; may be repeated.') },
      returns: t.jsonResponse(
        AgentJoinResponse,
        'How many are members, and why the others are not.',
      ),
      errors: { 400: 'No address is given.' },
      needs: 'agent:write',
    }),
    forceLeaveAgent: operate('/agent/force-leave', {
      summary: 'Mark a failed server as left, or remove it from the list.',
      answeredBy: 'self',
      audit: 'always',
      query: {
        node: t.Optional(t.String({ description: 'Name of the server; required.' })),
        prune: t.FlagParameter('Remove it from the list.'),
      },
      returns: t.emptyResponse('The server is marked as left, or removed.'),
      errors: { 400: 'No server is named, or it is alive.', 404: 'The server is unknown.' },
      needs: 'agent:write',
    }),
    monitorAgent: unreplicatedRead('/agent/monitor', {
      summary: 'Follow the log of an agent.',
      answeredBy: 'named',
      streams: true,
      query: {
        log_level: t.Optional(
          t.String({
            description: 'The lowest level: `debug`, `info`, `warn` or `error`.',
            default: 'info',
          }),
        ),
        ...agentQuery,
        log_json: t.FlagParameter('Lines as JSON.'),
        plain: t.FlagParameter('Only the text, without frames.'),
      },
      returns: t.jsonResponse(
        StreamFrame,
        'Frames, or text with `plain=true`. Lines that a slow reader misses are counted in a line.',
      ),
      answers: { 504: t.nodeTimeout },
      errors: agentErrors,
      needs: 'agent:read',
    }),
    readAgentHost: unreplicatedRead('/agent/host', {
      summary: 'Read data of the machine of an agent, for diagnosis.',
      answeredBy: 'named',
      query: agentQuery,
      returns: t.jsonResponse(AgentHostResponse, 'The machine; no secrets are included.'),
      answers: { 504: t.nodeTimeout },
      errors: agentErrors,
      needs: 'agent:read',
    }),
  }),
  ...routes('Status', {
    readLeader: read('/status/leader', {
      summary: 'Read the address of the leader.',
      answeredBy: 'self',
      returns: t.jsonResponse(t.String(), 'The address; empty when there is no leader.'),
      needs: 'none',
    }),
    listPeers: read('/status/peers', {
      summary: 'List the addresses of the servers.',
      answeredBy: 'self',
      returns: t.jsonResponse(Addresses, 'The addresses.'),
      needs: 'none',
    }),
    listRegions: read('/regions', {
      summary: 'List the known regions.',
      returns: t.jsonResponse(t.Array(t.String()), 'The names, sorted.'),
      needs: 'none',
    }),
  }),
}
