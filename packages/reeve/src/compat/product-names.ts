import {
  NO_ALIASES,
  type Aliases,
  type GovernanceAliases,
  type CertificateAliases,
  type HttpAliases,
  type JobFileAliases,
  type MetricAliases,
  type RuleAliases,
  type TaskAliases,
} from './aliases.ts'

/*
 * Names of Terraform Enterprise and HCP Terraform, whose clients work unchanged
 * (docs/reference/compatibility.md).
 */
const GOVERNANCE: GovernanceAliases = {
  responseHeaders: {
    'tfp-api-version': '2.6',
    'tfp-appname': 'Reeve',
    // Clients show the structured log of a plan from this version on.
    'x-tfe-version': 'v202302-1',
  },
  notificationHeaders: { 'x-reeve-notification-signature': 'x-tfe-notification-signature' },
  policyKinds: { sentinel: 'native' },
  members: {
    'terraform-version': 'tool-version',
    'can-update-sentinel': 'can-update-policies',
    'sentinel-mocks': 'policy-mocks',
    sentinel: 'native',
  },
  nested: ['workspace-access', 'permissions'],
  // The command-line tool, and programs on the Go client.
  memberHeaders: [
    { name: 'terraform-version', prefix: '' },
    { name: 'user-agent', prefix: 'go-tfe' },
  ],
  structuredLogHeader: { name: 'x-terraform-integration', value: 'cloud' },
  responseMembers: {
    // The command-line tool refuses to write the state of a workspace without a readable version.
    'tool-version': { name: 'terraform-version', nullValue: 'latest' },
    'can-update-policies': { name: 'can-update-sentinel' },
    'policy-mocks': { name: 'sentinel-mocks' },
  },
  values: { kind: { sentinel: 'native' }, source: { 'tfe-api': 'api' } },
  discoveryPath: '/.well-known/terraform.json',
  discovery: {
    'tfe.v2': '/api/v2/',
    'tfe.v2.1': '/api/v2/',
    'tfe.v2.2': '/api/v2/',
    'state.v2': '/api/v2/',
  },
}

const GOVERNANCE_ENVIRONMENT = {
  TFE_ADDRESS: 'REEVE_ADDR',
  TFE_TOKEN: 'REEVE_TOKEN',
} as const

/*
 * Names of Nomad, whose clients, job files, templates and dashboards work unchanged
 * (docs/reference/compatibility.md).
 */

const RESPONSE_HEADERS = {
  'x-service-index': 'x-nomad-index',
  'x-service-knownleader': 'x-nomad-knownleader',
  'x-service-lastcontact': 'x-nomad-lastcontact',
  'x-service-nexttoken': 'x-nomad-nexttoken',
} as const

/** The directory of variables that tasks read with their own identity. */
const VARIABLE_DIRECTORIES = { nomad: 'service' } as const

/**
 * Both are the built-in catalogue: Nomad writes `consul` into every canonical job that names no
 * provider, and templates read `service` from the catalogue that there is.
 */
const PROVIDERS = { nomad: 'service', consul: 'service' } as const

const HTTP: HttpAliases = {
  requestHeaders: { 'x-nomad-token': 'x-service-token' },
  responseHeaders: RESPONSE_HEADERS,
  fields: {
    ConsulToken: 'DiscoveryToken',
    ConsulNamespace: 'DiscoveryNamespace',
    VaultToken: 'SecretStoreToken',
    VaultNamespace: 'SecretStoreNamespace',
    NomadTokenID: 'ServiceTokenID',
    VaultError: 'SecretStoreError',
    Vault: 'SecretStore',
    Consul: 'Discovery',
  },
  values: { Provider: PROVIDERS },
  variableDirectories: VARIABLE_DIRECTORIES,
}

const JOB_FILE: JobFileAliases = {
  blocks: { vault: 'secret_store', consul: 'discovery' },
  attributes: { vault_token: 'secret_store_token', consul_token: 'discovery_token' },
  providers: PROVIDERS,
  variablePrefixes: ['NOMAD_VAR_'],
}

const TASK: TaskAliases = {
  environmentPrefixes: ['NOMAD_'],
  templateFunctions: {
    nomadService: 'service',
    nomadServices: 'services',
    nomadVar: 'variable',
    nomadVarExists: 'variableExists',
    nomadVarList: 'variableList',
    nomadVarListSafe: 'variableList',
  },
  variableDirectories: VARIABLE_DIRECTORIES,
  nodeAttributes: { 'service.version': 'nomad.version' },
}

const RULES: RuleAliases = {
  capabilities: { 'sentinel-override': 'policy-override' },
  variableDirectories: VARIABLE_DIRECTORIES,
}

const METRICS: MetricAliases = {
  names: {
    job_allocations_queued: 'nomad_nomad_job_summary_queued',
    job_allocations_starting: 'nomad_nomad_job_summary_starting',
    job_allocations_running: 'nomad_nomad_job_summary_running',
    job_allocations_complete: 'nomad_nomad_job_summary_complete',
    job_allocations_failed: 'nomad_nomad_job_summary_failed',
    job_allocations_lost: 'nomad_nomad_job_summary_lost',
    job_allocations_unknown: 'nomad_nomad_job_summary_unknown',
    node_allocated_cpu: 'nomad_client_allocated_cpu',
    node_allocated_memory: 'nomad_client_allocated_memory',
    node_allocated_disk: 'nomad_client_allocated_disk',
    node_unallocated_cpu: 'nomad_client_unallocated_cpu',
    node_unallocated_memory: 'nomad_client_unallocated_memory',
    node_unallocated_disk: 'nomad_client_unallocated_disk',
    node_allocations_pending: 'nomad_client_allocations_pending',
    node_allocations_running: 'nomad_client_allocations_running',
    node_host_cpu_percent: 'nomad_client_host_cpu_total_percent',
    node_host_memory_size: 'nomad_client_host_memory_total',
    node_host_memory_available: 'nomad_client_host_memory_available',
    node_host_memory_used: 'nomad_client_host_memory_used',
    node_host_memory_free: 'nomad_client_host_memory_free',
    node_host_disk_size: 'nomad_client_host_disk_size',
    node_host_disk_used: 'nomad_client_host_disk_used',
    node_host_disk_available: 'nomad_client_host_disk_available',
    node_host_uptime: 'nomad_client_uptime',
    task_cpu_percent: 'nomad_client_allocs_cpu_total_percent',
    task_cpu_ticks: 'nomad_client_allocs_cpu_total_ticks',
    task_cpu_allocated: 'nomad_client_allocs_cpu_allocated',
    task_cpu_throttled_time: 'nomad_client_allocs_cpu_throttled_time',
    task_memory_rss: 'nomad_client_allocs_memory_rss',
    task_memory_cache: 'nomad_client_allocs_memory_cache',
    task_memory_swap: 'nomad_client_allocs_memory_swap',
    task_memory_usage: 'nomad_client_allocs_memory_usage',
    task_memory_max_usage: 'nomad_client_allocs_memory_max_usage',
    task_memory_allocated: 'nomad_client_allocs_memory_allocated',
  },
}

const CERTIFICATES: CertificateAliases = { domains: ['nomad'] }

const COMMAND_LINE_ENVIRONMENT = {
  NOMAD_ADDR: 'REEVE_ADDR',
  NOMAD_TOKEN: 'REEVE_TOKEN',
  NOMAD_NAMESPACE: 'REEVE_NAMESPACE',
  NOMAD_REGION: 'REEVE_REGION',
  NOMAD_CACERT: 'REEVE_CACERT',
  NOMAD_CLIENT_CERT: 'REEVE_CLIENT_CERT',
  NOMAD_CLIENT_KEY: 'REEVE_CLIENT_KEY',
  NOMAD_TLS_SERVER_NAME: 'REEVE_TLS_SERVER_NAME',
  NOMAD_SKIP_VERIFY: 'REEVE_SKIP_VERIFY',
} as const

const ALL_ALIASES: Aliases = {
  http: HTTP,
  governance: GOVERNANCE,
  jobFile: JOB_FILE,
  task: TASK,
  rules: RULES,
  metrics: METRICS,
  certificates: CERTIFICATES,
  commandLine: {
    address: 'REEVE_ADDR',
    environments: [COMMAND_LINE_ENVIRONMENT, GOVERNANCE_ENVIRONMENT],
  },
}

/** Returns the aliases of an agent or a command: all, or none if `compatibility` is off. */
export function aliasesOf(isCompatible: boolean): Aliases {
  return isCompatible ? ALL_ALIASES : NO_ALIASES
}
