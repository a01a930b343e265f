import assert from 'node:assert/strict'
import test from 'node:test'
import { anAgentConfig } from '../../../test/build/agent-config.ts'
import { DEFAULT_HEARTBEAT_SETTINGS } from '../../control/index.ts'
import {
  DEFAULT_LIMITS,
  FULL_LIMITS,
  FULL_CONFIG_FILE,
  FULL_CONFIG_JSON,
} from '../../../test/build/full-agent-config.ts'
import { DEFAULT_CAPS, DEFAULT_DOCKER_SETTINGS } from '../../drivers/index.ts'
import { TOOLS } from '../../infrastructure/index.ts'
import { DEFAULT_DENIED_GROUPS, DEFAULT_EXEC_CAPABILITIES } from './driver-options.ts'
import { DEFAULT_CIPHER_SUITES } from '../../tls/index.ts'
import { DEFAULT_NODE_ADMISSION } from '../../workload/index.ts'
import { type AgentConfig, Secret } from './agent-config.ts'

const ARTIFACTS = { allowsFiles: false, allowsLocal: true, timeoutMs: 1.8e6, entriesMax: 65_536 }

const DEFAULT_EXEC: AgentConfig['client']['exec'] = {
  enabled: true,
  allowCaps: DEFAULT_EXEC_CAPABILITIES,
  denyUsers: ['root', '0'],
  denyGroups: DEFAULT_DENIED_GROUPS,
  allowGroups: [],
  defaultUser: 'nobody',
  allowHostNamespaces: false,
  isCpuHard: false,
  pidsMax: 4_096,
  chrootEnv: {},
}

const DEFAULT_DOCKER: AgentConfig['client']['docker'] = {
  enabled: true,
  endpoint: 'unix:///var/run/docker.sock',
  tls: { caFile: undefined, certFile: undefined, keyFile: undefined },
  authFile: undefined,
  settings: DEFAULT_DOCKER_SETTINGS,
  policy: {
    allowPrivileged: false,
    allowVolumes: false,
    allowHostNamespaces: false,
    allowCaps: DEFAULT_CAPS,
    pidsMax: 4_096,
  },
  gc: {
    removesImages: true,
    imageDelayMs: 180_000,
    removesContainers: true,
    dangling: { isEnabled: true, isDryRun: false, periodMs: 300_000, graceMs: 300_000 },
  },
}

test('configuration: --dev is server and node on loopback, without ACLs', () => {
  assert.deepEqual(anAgentConfig({ flags: { dev: true } }), {
    dev: true,
    region: 'global',
    datacenter: 'dc1',
    name: 'host1',
    dataDirectory: '/tmp/reeve-dev-1',
    isDataTemporary: true,
    bind: '127.0.0.1',
    ports: { http: 4646 },
    advertise: { host: '127.0.0.1', httpPort: undefined },
    server: {
      enabled: true,
      joinToken: undefined,
      admission: DEFAULT_NODE_ADMISSION,
      database: undefined,
      commitTimeoutMs: 15_000,
      clusterKey: undefined,
      previousClusterKeys: [],
      presence: DEFAULT_HEARTBEAT_SETTINGS,
      regions: { others: {}, authoritative: undefined, replicationToken: undefined },
    },
    client: {
      enabled: true,
      servers: [],
      nodePool: 'default',
      nodeClass: '',
      meta: {},
      joinToken: undefined,
      remoteExec: true,
      rawExec: true,
      exec: DEFAULT_EXEC,
      docker: DEFAULT_DOCKER,
      reserved: { cpuMHz: 0, memoryMB: 0, diskMB: 0, ports: '' },
      hostVolumes: {},
      volumesDirectory: undefined,
      volumePluginDirectory: undefined,
      artifacts: ARTIFACTS,
      secretsInMemory: false,
      killTimeoutMsMax: 30_000,
      bridge: { name: 'reeve0', subnet: '172.30.64.0/20', hairpin: false },
      cni: { configDirectory: '/opt/cni/config', pluginDirectories: ['/opt/cni/bin'] },
      gc: {
        intervalMs: 60_000,
        diskPercent: 80,
        inodePercent: 70,
        allocationsMax: 50,
        parallelDestroys: 2,
      },
    },
    acl: { enabled: false },
    tls: {
      http: false,
      rpc: false,
      caFile: undefined,
      certFile: undefined,
      keyFile: undefined,
      verifyServerHostname: true,
      verifyHttpsClient: false,
      minVersion: 'tls12',
      cipherSuites: DEFAULT_CIPHER_SUITES,
    },
    log: { level: 'info', json: false },
    eventLog: { ageMsMax: 24 * 3_600_000, commitsMax: 100_000 },
    audit: { ageMsMax: 30 * 24 * 3_600_000, recordsMax: 500_000 },
    backup: {
      intervalMs: undefined,
      keep: 7,
      directory: undefined,
      s3: { address: undefined, region: 'us-east-1', accessKey: undefined, secretKey: undefined },
    },
    infrastructure: {
      tool: TOOLS[0],
      source: 'node',
      artifact: undefined,
      image: undefined,
      version: undefined,
      cpuMHz: 200,
      memoryMB: 512,
      planMsMax: 2 * 3_600_000,
      applyMsMax: 24 * 3_600_000,
      applyKillMs: 600_000,
    },
    tracing: { endpoint: undefined, samplePercent: 100, authorization: undefined },
    http: {
      corsOrigins: [],
      responseHeaders: {},
      isPlain: false,
      requestsPerSecondMax: 100,
      externalUrl: '',
    },
    compatibility: true,
    limits: DEFAULT_LIMITS,
  } satisfies AgentConfig)
})

test('configuration: without --dev ACLs are on and raw_exec is off', () => {
  const config = anAgentConfig({ flags: { server: true, client: true, dataDirectory: '/data' } })
  assert.equal(config.acl.enabled, true)
  assert.equal(config.client.rawExec, false)
  assert.equal(config.isDataTemporary, false)
})

for (const [path, text] of [
  ['all.hcl', FULL_CONFIG_FILE],
  ['all.json', JSON.stringify(FULL_CONFIG_JSON)],
  // Neither ending: the content tells.
  ['/dev/fd/63', FULL_CONFIG_FILE],
  ['/dev/fd/64', ` \n${JSON.stringify(FULL_CONFIG_JSON)}`],
] as const)
  test(`configuration: ${path} can hold every setting but --dev`, () => {
    const config = anAgentConfig({ files: { [path]: text } })
    const { joinToken, database, clusterKey, previousClusterKeys, regions } = config.server
    const { replicationToken } = regions
    const { joinToken: nodeJoinToken } = config.client
    assert.equal(nodeJoinToken?.reveal(), 'a token of one node')
    assert.equal(joinToken?.reveal(), '0123456789abcdef')
    assert.equal(database?.reveal(), 'postgres://reeve@db.example/reeve')
    assert.equal(clusterKey?.reveal(), 'a key of the cluster')
    assert.deepEqual(
      previousClusterKeys.map((key) => key.reveal()),
      ['the key before it'],
    )
    assert.equal(replicationToken?.reveal(), 'a token of every region')
    assert.deepEqual(config, {
      dev: false,
      region: 'eu',
      datacenter: 'berlin',
      name: 'node-7',
      dataDirectory: '/var/lib/reeve',
      isDataTemporary: false,
      bind: '0.0.0.0',
      ports: { http: 8080 },
      advertise: { host: 'reeve.example.com', httpPort: 80 },
      server: {
        enabled: true,
        joinToken,
        admission: { allowsSharedToken: false, newNodesPerMinuteMax: 60, newNodesPerAddressMax: 6 },
        database,
        commitTimeoutMs: 20_000,
        clusterKey,
        previousClusterKeys,
        presence: {
          heartbeatMsMin: 1_000,
          heartbeatsPerSecondMax: 50,
          graceMs: 2_000,
          failoverTtlMs: 300_000,
        },
        regions: {
          others: { us: ['https://us.example.com', 'http://10.1.0.1:4646'] },
          authoritative: 'us',
          replicationToken,
        },
      },
      client: {
        enabled: true,
        servers: ['10.0.0.1:4646', '[::1]:99'],
        nodePool: 'batch',
        nodeClass: 'gpu',
        meta: { rack: 'r1' },
        joinToken: nodeJoinToken,
        remoteExec: false,
        rawExec: true,
        exec: {
          enabled: false,
          allowCaps: ['chown'],
          denyUsers: ['daemon'],
          denyGroups: ['tape'],
          allowGroups: ['video'],
          defaultUser: 'tasks',
          allowHostNamespaces: true,
          isCpuHard: true,
          pidsMax: 100,
          chrootEnv: { '/opt': '/opt' },
        },
        docker: {
          enabled: false,
          endpoint: 'tcp://10.0.0.9:2376',
          tls: {
            caFile: '/etc/engine/ca.pem',
            certFile: '/etc/engine/cert.pem',
            keyFile: '/etc/engine/key.pem',
          },
          authFile: '/etc/logins.json',
          settings: {
            pullActivityMs: 30_000,
            authHelper: 'ecr-login',
            extraLabels: ['job_*'],
            logging: { type: 'journald', config: { tag: 'shop' } },
            collectsLogs: false,
            allowHostNetwork: false,
            allowRuntimes: ['runsc'],
            nvidiaRuntime: 'nvidia-cdi',
            noNewPrivileges: false,
            selinuxLabel: 'Z',
            infraImage: 'registry.example/pause:3.9',
            infraPullTimeoutMs: 60_000,
          },
          policy: {
            allowPrivileged: true,
            allowVolumes: true,
            allowHostNamespaces: true,
            allowCaps: ['all'],
            pidsMax: 200,
          },
          gc: {
            removesImages: false,
            imageDelayMs: 7_200_000,
            removesContainers: false,
            dangling: { isEnabled: false, isDryRun: true, periodMs: 60_000, graceMs: 90_000 },
          },
        },
        hostVolumes: {
          certs: { path: '/etc/ssl/certs', readOnly: true },
          'data[0]': { path: '/srv/data', readOnly: false },
        },
        volumesDirectory: '/srv/volumes',
        volumePluginDirectory: '/opt/volume-plugins',
        artifacts: { ...ARTIFACTS, allowsFiles: true, timeoutMs: 600_000, entriesMax: 200_000 },
        secretsInMemory: false,
        killTimeoutMsMax: 300_000,
        bridge: { name: 'br7', subnet: '10.200.0.0/16', hairpin: true },
        cni: {
          configDirectory: '/etc/cni/net.d',
          pluginDirectories: ['/usr/lib/cni', '/opt/cni/bin'],
        },
        gc: {
          intervalMs: 30_000,
          diskPercent: 90,
          inodePercent: 85,
          allocationsMax: 200,
          parallelDestroys: 4,
        },
        reserved: { cpuMHz: 500, memoryMB: 512, diskMB: 1024, ports: '22,8000-8010' },
      },
      acl: { enabled: true },
      tls: {
        http: true,
        rpc: true,
        caFile: '/etc/reeve/ca.pem',
        certFile: '/etc/reeve/agent.pem',
        keyFile: '/etc/reeve/agent.key',
        verifyServerHostname: false,
        verifyHttpsClient: true,
        minVersion: 'tls13',
        cipherSuites: ['TLS_AES_128_GCM_SHA256', 'TLS_CHACHA20_POLY1305_SHA256'],
      },
      log: { level: 'warn', json: true },
      eventLog: { ageMsMax: 5_400_000, commitsMax: 5_000 },
      audit: { ageMsMax: 90 * 24 * 3_600_000, recordsMax: 20_000 },
      backup: {
        intervalMs: 12 * 3_600_000,
        keep: 3,
        directory: undefined,
        s3: {
          address: 'https://s3.example.com/backups/reeve',
          region: 'eu-central-1',
          accessKey: 'AKIAEXAMPLE',
          secretKey: new Secret('secret-key-of-the-bucket'),
        },
      },
      infrastructure: {
        tool: 'tofu',
        source: 'artifact',
        artifact: 'https://tools.example.com/{version}/{os}_{arch}.zip',
        image: 'tools.example.com/tofu:{version}',
        version: '1.9.1',
        cpuMHz: 500,
        memoryMB: 1_024,
        planMsMax: 30 * 60_000,
        applyMsMax: 12 * 3_600_000,
        applyKillMs: 300_000,
      },
      tracing: {
        endpoint: 'https://collector.example.com/v1/traces',
        samplePercent: 5,
        authorization: new Secret('Bearer of-the-collector'),
      },
      http: {
        corsOrigins: ['https://ui.example.com'],
        responseHeaders: { 'X-Team': 'platform' },
        isPlain: true,
        requestsPerSecondMax: 50,
        externalUrl: 'https://reeve.example.com',
      },
      compatibility: false,
      limits: FULL_LIMITS,
    } satisfies AgentConfig)
  })
