import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { inspect } from 'node:util'
import { ALL_NODE_POOL, DEFAULT_NODE_POOL, GLOBAL_REGION } from '@reeve/contract'
import { anAgentConfig, hostFacts } from '../../../test/build/agent-config.ts'
import { DEFAULT_CAPS } from '../../drivers/index.ts'
import { DEFAULT_CIPHER_SUITES } from '../../tls/index.ts'
import { DOCUMENT, replaceTable } from './documentation.ts'
import { TOOLS } from '../../infrastructure/index.ts'
import { DEFAULT_DENIED_GROUPS, DEFAULT_EXEC_CAPABILITIES } from './driver-options.ts'
import { optionEntries, options } from './options.ts'
import { redactedConfig } from '../agent-status.ts'
import { Secret } from './agent-config.ts'

test('options: the table of docs/reference/configuration.md is the table of options', () => {
  const page = readFileSync(DOCUMENT, 'utf8')
  const how = 'run node packages/reeve/src/main/config/documentation.ts'
  assert.equal(page, replaceTable(page), how)
})

test('options: no flag, variable or place in a file is taken twice', () => {
  for (const key of ['flag', 'environment', 'file'] as const) {
    const taken = optionEntries.flatMap(([, option]) => {
      const place = key === 'flag' ? option.flag?.long : option[key]
      return place === undefined ? [] : [String(place)]
    })
    assert.equal(new Set(taken).size, taken.length, key)
  }
})

test('options: secrets have no flag, and flags take an argument unless they are switches', () => {
  for (const [name, { flag, kind }] of optionEntries) {
    // A database's password may stand elsewhere than in its address.
    if (kind.isSecret && name !== 'database') assert.equal(flag, undefined, name)
    if (flag !== undefined) assert.equal(flag.argument === undefined, kind.flag === 'switch', name)
  }
})

test('options: a documented default in code style is the default', () => {
  for (const [name, { kind, byDefault }] of optionEntries) {
    const [, text] = /^`([^`]+)`(?:;|$)/.exec(byDefault.text) ?? []
    if (text === undefined || name === 'logJson') continue
    const value = kind.toJson(byDefault.of({ ...hostFacts, dev: false }))
    assert.equal(typeof value === 'string' ? value : JSON.stringify(value), text, name)
  }
})

test('options: the names of the contract are theirs', () => {
  assert.equal(anAgentConfig().region, GLOBAL_REGION)
  assert.equal(anAgentConfig().client.nodePool, DEFAULT_NODE_POOL)
  assert.equal(options.nodePool.kind.fromString(ALL_NODE_POOL, hostFacts).ok, false)
})

const secret = 'correct horse battery staple'

test('options: what is in force is shown in the words of its file, without secrets', () => {
  const config = anAgentConfig({
    flags: { dev: true },
    environment: { REEVE_JOIN_TOKEN: secret, REEVE_EVENT_LOG_MAX_AGE: '90s' },
    files: { 'a.hcl': 'client { meta = { rack = "r1" } }' },
  })
  const shown = redactedConfig(config)
  assert.deepEqual(shown, {
    dev: true,
    server: {
      enabled: true,
      shared_join_token: true,
      max_new_nodes_per_minute: 1_200,
      max_new_nodes_per_minute_per_address: 120,
      min_heartbeat_ttl: '5s',
      max_heartbeats_per_second: 1_000,
      commit_timeout: '15s',
      previous_cluster_keys: [],
      heartbeat_grace: '15s',
      failover_heartbeat_ttl: '1m',
      region: {},
    },
    client: {
      enabled: true,
      servers: [],
      node_pool: 'default',
      node_class: '',
      meta: { rack: 'r1' },
      disable_remote_exec: false,
      chroot_env: {},
      host_volume: {},
      artifact: { allow_files: false, allow_local: true, timeout: '30m', max_entries: 65_536 },
      secrets_in_memory: false,
      max_kill_timeout: '30s',
      bridge_network_name: 'reeve0',
      bridge_network_subnet: '172.30.64.0/20',
      bridge_network_hairpin_mode: false,
      cni_config_dir: '/opt/cni/config',
      cni_path: '/opt/cni/bin',
      gc_interval: '1m',
      gc_disk_usage_threshold: 80,
      gc_inode_usage_threshold: 70,
      gc_max_allocs: 50,
      gc_parallel_destroys: 2,
      reserved: { cpu: 0, memory: 0, disk: 0, reserved_ports: '' },
    },
    region: 'global',
    datacenter: 'dc1',
    name: 'host1',
    compatibility: true,
    plain_http: false,
    data_dir: '/tmp/reeve-dev-1',
    bind_addr: '127.0.0.1',
    ports: { http: 4646 },
    advertise: { http: '127.0.0.1' },
    join_token: '<redacted>',
    plugin: {
      raw_exec: { config: { enabled: true } },
      exec: {
        config: {
          enabled: true,
          allow_caps: DEFAULT_EXEC_CAPABILITIES,
          denied_users: ['root', '0'],
          denied_groups: DEFAULT_DENIED_GROUPS,
          allow_groups: [],
          default_user: 'nobody',
          allow_host_namespaces: false,
          cpu_hard_limit: false,
          pids_limit: 4_096,
        },
      },
      docker: {
        config: {
          enabled: true,
          endpoint: 'unix:///var/run/docker.sock',
          allow_privileged: false,
          volumes: { enabled: false },
          allow_host_namespaces: false,
          allow_caps: DEFAULT_CAPS,
          pids_limit: 4_096,
          gc: {
            image: true,
            image_delay: '3m',
            container: true,
            dangling_containers: {
              enabled: true,
              dry_run: false,
              period: '5m',
              creation_grace: '5m',
            },
          },
          pull_activity_timeout: '2m',
          extra_labels: [],
          disable_log_collection: false,
          allow_host_network: true,
          allow_runtimes: ['runc', 'nvidia'],
          nvidia_runtime: 'nvidia',
          no_new_privileges: true,
          infra_image_pull_timeout: '5m',
        },
      },
    },
    acl: { enabled: false },
    tls: {
      http: false,
      rpc: false,
      verify_server_hostname: true,
      verify_https_client: false,
      min_version: 'tls12',
      cipher_suites: DEFAULT_CIPHER_SUITES,
    },
    log_level: 'info',
    log_json: false,
    event_log: { max_age: '1m30s', max_commits: 100_000 },
    audit: { max_age: '720h', max_records: 500_000 },
    backup: { keep: 7, s3: { region: 'us-east-1' } },
    infrastructure: {
      tool: TOOLS[0],
      source: 'node',
      cpu: 200,
      memory: 512,
      plan_timeout: '2h',
      apply_timeout: '24h',
      kill_timeout: '10m',
    },
    tracing: { sample_percent: 100 },
    http_api_cors_origins: [],
    http_api_response_headers: {},
    http_api_max_requests_per_second: 100,
    limits: {
      requests_per_second: 5000,
      anonymous_requests_per_second: 1000,
      blocking_queries_per_token: 1024,
      event_streams_per_token: 64,
      exec_sessions_per_token: 256,
      log_streams_per_token: 256,
      connections: 16384,
    },
    http_api_external_url: '',
  })
})

test('options: what is shown, written to a file, gives the same configuration again', () => {
  const files = { 'a.hcl': 'region = "eu"\nclient { servers = ["[::1]:7", "b"] }' }
  const flags = { server: true, dataDirectory: '/d', bind: '0.0.0.0' } as const
  const config = anAgentConfig({ flags, files })
  const { dev: _, ...shown } = redactedConfig(config)
  assert.deepEqual(anAgentConfig({ files: { 'again.json': JSON.stringify(shown) } }), config)
})

test('a secret shows itself only when asked to', () => {
  const hidden = new Secret(secret)
  const ways = [String(hidden), JSON.stringify({ hidden }), inspect({ hidden })]
  for (const way of ways) {
    assert.ok(way.includes('<redacted>'), way)
    assert.ok(!way.includes('horse'), way)
  }
  assert.equal(hidden.reveal(), secret)
})
