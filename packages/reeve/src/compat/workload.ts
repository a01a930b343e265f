import type {
  CertificateAliases,
  HttpAliases,
  JobFileAliases,
  MetricAliases,
  RuleAliases,
  TaskAliases,
} from './aliases.ts'

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

export const HTTP: HttpAliases = {
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

export const JOB_FILE: JobFileAliases = {
  blocks: { vault: 'secret_store', consul: 'discovery' },
  attributes: { vault_token: 'secret_store_token', consul_token: 'discovery_token' },
  providers: PROVIDERS,
  variablePrefixes: ['NOMAD_VAR_'],
}

export const TASK: TaskAliases = {
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

export const RULES: RuleAliases = {
  capabilities: { 'sentinel-override': 'policy-override' },
  variableDirectories: VARIABLE_DIRECTORIES,
}

export const METRICS: MetricAliases = {
  names: {
    job_summary_queued: 'nomad_nomad_job_summary_queued',
    job_summary_starting: 'nomad_nomad_job_summary_starting',
    job_summary_running: 'nomad_nomad_job_summary_running',
    job_summary_complete: 'nomad_nomad_job_summary_complete',
    job_summary_failed: 'nomad_nomad_job_summary_failed',
    job_summary_lost: 'nomad_nomad_job_summary_lost',
    job_summary_unknown: 'nomad_nomad_job_summary_unknown',
    node_allocated_cpu: 'nomad_client_allocated_cpu',
    node_allocated_memory: 'nomad_client_allocated_memory',
    node_allocated_disk: 'nomad_client_allocated_disk',
    node_unallocated_cpu: 'nomad_client_unallocated_cpu',
    node_unallocated_memory: 'nomad_client_unallocated_memory',
    node_unallocated_disk: 'nomad_client_unallocated_disk',
    node_allocations_pending: 'nomad_client_allocations_pending',
    node_allocations_running: 'nomad_client_allocations_running',
  },
}

export const CERTIFICATES: CertificateAliases = { domains: ['nomad'] }

export const COMMAND_LINE_ENVIRONMENT = {
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
