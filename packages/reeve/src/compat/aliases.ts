/**
 * Names that clients, files and machines of other products use for what Reeve has. A table maps the
 * other product's name to Reeve's unless its comment says otherwise. `NO_ALIASES` leaves Reeve's
 * names only.
 */
export interface Aliases {
  readonly http: HttpAliases
  readonly governance: GovernanceAliases
  readonly jobFile: JobFileAliases
  readonly task: TaskAliases
  readonly rules: RuleAliases
  readonly metrics: MetricAliases
  readonly certificates: CertificateAliases
  readonly commandLine: CommandLineAliases
}

/** Names in the workload API (`/v1`). */
export interface HttpAliases {
  /** In lower case. */
  readonly requestHeaders: Readonly<Record<string, string>>
  /** From Reeve's name to the other one, in lower case. Responses carry both. */
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Fields of JSON bodies; accepted where the schema has Reeve's field. */
  readonly fields: Readonly<Record<string, string>>
  /** Values in JSON bodies, by Reeve's name of the field. */
  readonly values: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Directories of variables. A response uses the name that the request used. */
  readonly variableDirectories: Readonly<Record<string, string>>
}

/** Names in the governance API (`/api/v2`). */
export interface GovernanceAliases {
  /** Headers with fixed values that are added to every response. */
  readonly responseHeaders: Readonly<Record<string, string>>
  /** From Reeve's name to the other one, in lower case: notifications of runs carry both. */
  readonly notificationHeaders: Readonly<Record<string, string>>
  /** Kinds of policies, which are also the suffixes of policy files. */
  readonly policyKinds: Readonly<Record<string, string>>
  /** Members of `attributes`, and of the objects in it that `nested` names. */
  readonly members: Readonly<Record<string, string>>
  readonly nested: readonly string[]
  /** Request headers of clients whose responses carry `responseMembers`. */
  readonly memberHeaders: readonly ClientHeader[]
  /** Header of requests to create a run by clients that render logs of JSON lines. */
  readonly structuredLogHeader: HeaderValue | undefined
  /** From Reeve's name of a member to the one that those clients read. */
  readonly responseMembers: Readonly<Record<string, ResponseMember>>
  /** Values of members, by Reeve's name of the member. */
  readonly values: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Path of the service discovery document. */
  readonly discoveryPath: string | undefined
  /** Services of that document and their paths on this server. */
  readonly discovery: Readonly<Record<string, string>>
}

export interface HeaderValue {
  /** In lower case. */
  readonly name: string
  readonly value: string
}

export interface ClientHeader {
  /** In lower case. */
  readonly name: string
  /** Prefix of its value. */
  readonly prefix: string
}

export interface ResponseMember {
  readonly name: string
  /** Replaces null, which those clients cannot read. */
  readonly absent?: string
}

export interface JobFileAliases {
  /** Blocks of jobs, groups and tasks. */
  readonly blocks: Readonly<Record<string, string>>
  readonly attributes: Readonly<Record<string, string>>
  /** Providers of services and secrets. */
  readonly providers: Readonly<Record<string, string>>
  /** Prefixes of environment variables that set input variables, besides Reeve's. */
  readonly variablePrefixes: readonly string[]
}

/** Names that tasks and their templates use. */
export interface TaskAliases {
  /** Prefixes under which tasks get each of Reeve's environment variables once more. */
  readonly environmentPrefixes: readonly string[]
  readonly templateFunctions: Readonly<Record<string, string>>
  readonly variableDirectories: Readonly<Record<string, string>>
  /** Attributes of nodes, from Reeve's name to the other one. A node has both. */
  readonly nodeAttributes: Readonly<Record<string, string>>
}

/** Words in the rules of ACL policies. */
export interface RuleAliases {
  readonly capabilities: Readonly<Record<string, string>>
  readonly variableDirectories: Readonly<Record<string, string>>
}

/** Second names of metrics, which common dashboards read. */
export interface MetricAliases {
  /** From Reeve's name without its prefix to the other one. */
  readonly names: Readonly<Record<string, string>>
}

export interface CertificateAliases {
  /** Last labels that names in certificates of servers and nodes may have, besides Reeve's. */
  readonly domains: readonly string[]
}

export interface CommandLineAliases {
  /** Reeve's variable for the address of the server. */
  readonly address: string
  /** Environment variables of other programs; one table per program. */
  readonly environments: readonly Readonly<Record<string, string>>[]
}

export const NO_ALIASES: Aliases = {
  http: {
    requestHeaders: {},
    responseHeaders: {},
    fields: {},
    values: {},
    variableDirectories: {},
  },
  governance: {
    responseHeaders: {},
    notificationHeaders: {},
    policyKinds: {},
    members: {},
    values: {},
    nested: [],
    memberHeaders: [],
    structuredLogHeader: undefined,
    responseMembers: {},
    discoveryPath: undefined,
    discovery: {},
  },
  jobFile: { blocks: {}, attributes: {}, providers: {}, variablePrefixes: [] },
  task: {
    environmentPrefixes: [],
    templateFunctions: {},
    variableDirectories: {},
    nodeAttributes: {},
  },
  rules: { capabilities: {}, variableDirectories: {} },
  metrics: { names: {} },
  certificates: { domains: [] },
  commandLine: { address: 'REEVE_ADDR', environments: [] },
}
