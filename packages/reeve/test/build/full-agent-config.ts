/** Limits unless the configuration says otherwise, and those of the file below. */
export const DEFAULT_LIMITS = {
  requestsPerSecond: 5_000,
  anonymousRequestsPerSecond: 1_000,
  blockingQueriesPerToken: 1_024,
  eventStreamsPerToken: 64,
  execSessionsPerToken: 256,
  logStreamsPerToken: 256,
  connectionsMax: 16_384,
}
export const FULL_LIMITS = {
  requestsPerSecond: 200,
  anonymousRequestsPerSecond: 20,
  blockingQueriesPerToken: 100,
  eventStreamsPerToken: 8,
  execSessionsPerToken: 16,
  logStreamsPerToken: 32,
  connectionsMax: 1_000,
}

/** A file that holds every setting but `--dev`. */
export const FULL_CONFIG_FILE = `
region     = "eu"
datacenter = "berlin"
name       = "node-7"
data_dir   = "/var/lib/reeve"
bind_addr  = "0.0.0.0"
log_level  = "WARN"
log_json   = true
join_token = "0123456789abcdef"

ports { http = 8080 }
advertise { http = "reeve.example.com:80" }
server {
  enabled                   = true
  database                  = "postgres://reeve@db.example/reeve"
  commit_timeout            = "20s"
  cluster_key               = "a key of the cluster"
  previous_cluster_keys     = ["the key before it"]
  shared_join_token         = false
  max_new_nodes_per_minute  = 60
  max_new_nodes_per_minute_per_address = 6
  min_heartbeat_ttl         = "1s"
  max_heartbeats_per_second = 50
  heartbeat_grace           = "2s"
  failover_heartbeat_ttl    = "5m"
  authoritative_region      = "us"
  region "us" { addresses = ["https://us.example.com", "10.1.0.1"] }
}
acl {
  enabled           = true
  replication_token = "a token of every region"
}

tls {
  http                   = true
  rpc                    = true
  ca_file                = "/etc/reeve/ca.pem"
  cert_file              = "/etc/reeve/agent.pem"
  key_file               = "/etc/reeve/agent.key"
  verify_server_hostname = false
  verify_https_client    = true
  min_version            = "tls13"
  cipher_suites          = ["TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"]
}

client {
  enabled    = true
  servers    = ["10.0.0.1", "[::1]:99"]
  node_pool  = "batch"
  node_class = "gpu"
  join_token = "a token of one node"
  disable_remote_exec = true
  meta       = { rack = "r1" }
  chroot_env = { "/opt" = "/opt" }
  secrets_in_memory        = false
  max_kill_timeout         = "5m"
  bridge_network_name      = "br7"
  bridge_network_subnet    = "10.200.0.0/16"
  bridge_network_hairpin_mode = true
  cni_config_dir           = "/etc/cni/net.d"
  cni_path                 = "/usr/lib/cni:/opt/cni/bin"
  gc_interval              = "30s"
  gc_disk_usage_threshold  = 90
  gc_inode_usage_threshold = 85
  gc_max_allocs            = 200
  gc_parallel_destroys     = 4
  host_volumes_dir         = "/srv/volumes"
  host_volume_plugin_dir   = "/opt/volume-plugins"
  artifact {
    allow_files = true
    allow_local = true
    timeout     = "10m"
    max_entries = 200000
  }
  host_volume "certs" {
    path      = "/etc/ssl/certs"
    read_only = true
  }
  host_volume "data[0]" { path = "/srv/data" }
  reserved {
    cpu            = 500
    memory         = 512
    disk           = 1024
    reserved_ports = "22,8000-8010"
  }
}

plugin "raw_exec" {
  config { enabled = true }
}

plugin "exec" {
  config {
    enabled               = false
    allow_caps            = ["chown"]
    denied_users          = ["daemon"]
    denied_groups         = ["tape"]
    allow_groups          = ["video"]
    default_user          = "tasks"
    allow_host_namespaces = true
    cpu_hard_limit        = true
    pids_limit            = 100
  }
}

plugin "docker" {
  config {
    enabled               = false
    endpoint              = "tcp://10.0.0.9:2376"
    allow_privileged      = true
    allow_host_namespaces = true
    allow_host_network    = false
    allow_caps            = ["all"]
    allow_runtimes        = ["runsc"]
    nvidia_runtime        = "nvidia-cdi"
    no_new_privileges     = false
    pids_limit            = 200
    pull_activity_timeout = "30s"
    infra_image = "registry.example/pause:3.9"
    infra_image_pull_timeout = "1m"
    extra_labels          = ["job_*"]
    disable_log_collection = true
    tls {
      ca   = "/etc/engine/ca.pem"
      cert = "/etc/engine/cert.pem"
      key  = "/etc/engine/key.pem"
    }
    auth {
      config = "/etc/logins.json"
      helper = "ecr-login"
    }
    logging {
      type = "journald"
      config { tag = "shop" }
    }
    volumes {
      enabled      = true
      selinuxlabel = "Z"
    }
    gc {
      image       = false
      image_delay = "2h"
      container   = false
      dangling_containers {
        enabled        = false
        dry_run        = true
        period         = "1m"
        creation_grace = "90s"
      }
    }
  }
}

event_log {
  max_age     = "1h30m"
  max_commits = 5000
}

audit {
  max_age     = "2160h"
  max_records = 20000
}

backup {
  interval = "12h"
  keep     = 3
  s3 {
    address    = "https://s3.example.com/backups/reeve"
    region     = "eu-central-1"
    access_key = "AKIAEXAMPLE"
    secret_key = "secret-key-of-the-bucket"
  }
}

infrastructure {
  tool          = "tofu"
  source        = "artifact"
  artifact      = "https://tools.example.com/{version}/{os}_{arch}.zip"
  image         = "tools.example.com/tofu:{version}"
  version       = "1.9.1"
  cpu           = 500
  memory        = 1024
  plan_timeout  = "30m"
  apply_timeout = "12h"
  kill_timeout  = "5m"
}

tracing {
  endpoint       = "https://collector.example.com"
  sample_percent = 5
  authorization  = "Bearer of-the-collector"
}

http_api_cors_origins = ["https://ui.example.com"]
plain_http = true
http_api_response_headers {
  X-Team = "platform"
}
http_api_max_requests_per_second = 50

limits {
  requests_per_second           = 200
  anonymous_requests_per_second = 20
  blocking_queries_per_token    = 100
  event_streams_per_token       = 8
  exec_sessions_per_token       = 16
  log_streams_per_token         = 32
  connections                   = 1000
}
http_api_external_url = "https://reeve.example.com"
compatibility = false
`

/** The same in JSON. */
export const FULL_CONFIG_JSON = {
  region: 'eu',
  datacenter: 'berlin',
  name: 'node-7',
  data_dir: '/var/lib/reeve',
  bind_addr: '0.0.0.0',
  log_level: 'warn',
  log_json: true,
  join_token: '0123456789abcdef',
  ports: { http: 8080 },
  advertise: { http: 'reeve.example.com:80' },
  server: {
    enabled: true,
    database: 'postgres://reeve@db.example/reeve',
    commit_timeout: '20s',
    cluster_key: 'a key of the cluster',
    previous_cluster_keys: ['the key before it'],
    shared_join_token: false,
    max_new_nodes_per_minute: 60,
    max_new_nodes_per_minute_per_address: 6,
    min_heartbeat_ttl: '1s',
    max_heartbeats_per_second: 50,
    heartbeat_grace: '2s',
    failover_heartbeat_ttl: '5m',
    authoritative_region: 'us',
    region: { us: { addresses: ['https://us.example.com', '10.1.0.1'] } },
  },
  acl: { enabled: true, replication_token: 'a token of every region' },
  tls: {
    http: true,
    rpc: true,
    ca_file: '/etc/reeve/ca.pem',
    cert_file: '/etc/reeve/agent.pem',
    key_file: '/etc/reeve/agent.key',
    verify_server_hostname: false,
    verify_https_client: true,
    min_version: 'tls13',
    cipher_suites: ['TLS_AES_128_GCM_SHA256', 'TLS_CHACHA20_POLY1305_SHA256'],
  },
  client: {
    enabled: true,
    servers: ['10.0.0.1', '[::1]:99'],
    node_pool: 'batch',
    node_class: 'gpu',
    join_token: 'a token of one node',
    disable_remote_exec: true,
    meta: { rack: 'r1' },
    chroot_env: { '/opt': '/opt' },
    secrets_in_memory: false,
    max_kill_timeout: '5m',
    bridge_network_name: 'br7',
    bridge_network_subnet: '10.200.0.0/16',
    bridge_network_hairpin_mode: true,
    cni_config_dir: '/etc/cni/net.d',
    cni_path: '/usr/lib/cni:/opt/cni/bin',
    gc_interval: '30s',
    gc_disk_usage_threshold: 90,
    gc_inode_usage_threshold: 85,
    gc_max_allocs: 200,
    gc_parallel_destroys: 4,
    host_volumes_dir: '/srv/volumes',
    host_volume_plugin_dir: '/opt/volume-plugins',
    artifact: { allow_files: true, allow_local: true, timeout: '10m', max_entries: 200_000 },
    host_volume: {
      certs: { path: '/etc/ssl/certs', read_only: true },
      'data[0]': { path: '/srv/data' },
    },
    reserved: { cpu: 500, memory: 512, disk: 1024, reserved_ports: '22,8000-8010' },
  },
  plugin: {
    raw_exec: { config: { enabled: true } },
    exec: {
      config: {
        enabled: false,
        allow_caps: ['chown'],
        denied_users: ['daemon'],
        denied_groups: ['tape'],
        allow_groups: ['video'],
        default_user: 'tasks',
        allow_host_namespaces: true,
        cpu_hard_limit: true,
        pids_limit: 100,
      },
    },
    docker: {
      config: {
        enabled: false,
        endpoint: 'tcp://10.0.0.9:2376',
        allow_privileged: true,
        allow_host_namespaces: true,
        allow_host_network: false,
        allow_caps: ['all'],
        allow_runtimes: ['runsc'],
        nvidia_runtime: 'nvidia-cdi',
        no_new_privileges: false,
        pids_limit: 200,
        pull_activity_timeout: '30s',
        infra_image: 'registry.example/pause:3.9',
        infra_image_pull_timeout: '1m',
        extra_labels: ['job_*'],
        disable_log_collection: true,
        tls: {
          ca: '/etc/engine/ca.pem',
          cert: '/etc/engine/cert.pem',
          key: '/etc/engine/key.pem',
        },
        auth: { config: '/etc/logins.json', helper: 'ecr-login' },
        logging: { type: 'journald', config: { tag: 'shop' } },
        volumes: { enabled: true, selinuxlabel: 'Z' },
        gc: {
          image: false,
          image_delay: '2h',
          container: false,
          dangling_containers: {
            enabled: false,
            dry_run: true,
            period: '1m',
            creation_grace: '90s',
          },
        },
      },
    },
  },
  event_log: { max_age: '90m', max_commits: 5000 },
  audit: { max_age: '2160h', max_records: 20_000 },
  backup: {
    interval: '12h',
    keep: 3,
    s3: {
      address: 'https://s3.example.com/backups/reeve',
      region: 'eu-central-1',
      access_key: 'AKIAEXAMPLE',
      secret_key: 'secret-key-of-the-bucket',
    },
  },
  infrastructure: {
    tool: 'tofu',
    source: 'artifact',
    artifact: 'https://tools.example.com/{version}/{os}_{arch}.zip',
    image: 'tools.example.com/tofu:{version}',
    version: '1.9.1',
    cpu: 500,
    memory: 1_024,
    plan_timeout: '30m',
    apply_timeout: '12h',
    kill_timeout: '5m',
  },
  tracing: {
    endpoint: 'https://collector.example.com',
    sample_percent: 5,
    authorization: 'Bearer of-the-collector',
  },
  http_api_cors_origins: ['https://ui.example.com'],
  plain_http: true,
  http_api_response_headers: { 'X-Team': 'platform' },
  http_api_max_requests_per_second: 50,
  limits: {
    requests_per_second: 200,
    anonymous_requests_per_second: 20,
    blocking_queries_per_token: 100,
    event_streams_per_token: 8,
    exec_sessions_per_token: 16,
    log_streams_per_token: 32,
    connections: 1000,
  },
  http_api_external_url: 'https://reeve.example.com',
  compatibility: false,
}
