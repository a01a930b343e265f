/**
 * What becomes of every argument of a job file: seen on a real task (observations.ts), seen by a
 * test elsewhere, rejected, warned about, or purely descriptive. arguments.test.ts compares this
 * with the schema that the parser itself uses.
 */

/** A test that sees the effect of some arguments; `test` stands in `file` as written here. */
interface Elsewhere {
  readonly file: string
  readonly test: string
  readonly arguments: string
}

export const ELSEWHERE: readonly Elsewhere[] = [
  {
    file: 'src/scheduler/preemption/preemptor.test.ts',
    test: 'one who is ten less important',
    arguments: 'job.priority',
  },
  {
    file: 'src/scheduler/all-at-once.test.ts',
    test: 'a group with room for all but one gets none',
    arguments: 'job.all_at_once',
  },
  {
    file: 'src/scheduler/placement.test.ts',
    test: 'distinct_hosts: one allocation of the job per node',
    arguments: 'constraint.distinct_hosts',
  },
  {
    file: 'src/scheduler/placement.test.ts',
    test: 'distinct_property: limit per value; nodes without a value are filtered',
    arguments: 'constraint.distinct_property',
  },
  {
    file: 'src/scheduler/placement.test.ts',
    test: 'placement: positive and negative affinity',
    arguments: 'affinity.attribute affinity.value affinity.weight',
  },
  {
    file: 'src/scheduler/group-placer.test.ts',
    test: 'placement: required NUMA fits nowhere',
    arguments: 'numa.affinity',
  },
  {
    file: 'src/model/constraint/constraint.test.ts',
    test: 'operand: ${left} ${operand} ${right} is ${meets}',
    arguments:
      'affinity.operator affinity.version affinity.semver affinity.regexp affinity.set_contains affinity.set_contains_any affinity.set_contains_all',
  },
  {
    file: 'src/scheduler/ranking/node-scores.test.ts',
    test: 'targets that are not reached yet',
    arguments: 'spread.attribute target.percent',
  },
  {
    file: 'src/scheduler/ranking/node-scores.test.ts',
    test: 'spreads count by their weights',
    arguments: 'spread.weight',
  },
  {
    file: 'src/agent/allocation/allocation-runner.test.ts',
    test: 'a stop waits the shutdown delays, signals, and forces after the kill timeout',
    arguments: 'group.shutdown_delay',
  },
  {
    file: 'src/model/canonical/canonicalize-job.test.ts',
    test: 'canonical group: deprecated arguments become disconnect',
    arguments:
      'group.max_client_disconnect group.stop_after_client_disconnect group.prevent_reschedule_on_lost',
  },
  {
    file: 'src/scheduler/placement.test.ts',
    test: 'placement: memory oversubscription only if enabled',
    arguments: 'resources.memory_max',
  },
  {
    file: 'src/scheduler/resources/port-allocator.test.ts',
    test: 'one of a host network that the node lacks',
    arguments: 'port.host_network',
  },
  {
    file: 'src/scheduler/resources/port-allocator.test.ts',
    test: 'one that may collide',
    arguments: 'port.ignore_collision',
  },
  {
    file: 'src/scheduler/placement.test.ts',
    test: 'placement: missing devices filter every node',
    arguments: 'device.count',
  },
  {
    file: 'src/agent/template/template-manager.test.ts',
    test: 'a signal is sent once for several changes; noop and once do nothing',
    arguments: 'template.once',
  },
  {
    file: 'src/agent/template/template-manager.test.ts',
    test: 'a later rendering error keeps the old file and adds an event',
    arguments: 'template.error_on_missing_key',
  },
  {
    file: 'src/agent/template/template-manager.test.ts',
    test: 'a restart wins over a signal',
    arguments: 'template.splay',
  },
  {
    file: 'src/agent/services/plan-services.test.ts',
    test: 'the tags of a canary',
    arguments: 'service.canary_tags',
  },
  {
    file: 'src/agent/services/plan-services.test.ts',
    test: 'a check uses the address of its service unless it sets its own',
    arguments: 'check.port check.address_mode',
  },
  {
    file: 'src/agent/services/check-probe.test.ts',
    test: 'an http check sends its method, headers, path and body',
    arguments: 'check.body',
  },
  {
    file: 'src/agent/services/check-probe.test.ts',
    test: 'an https check verifies the certificate unless tls_skip_verify is set',
    arguments: 'check.protocol check.tls_skip_verify',
  },
  {
    file: 'src/agent/services/check-probe.test.ts',
    test: 'a check over TLS names the server that it asks for',
    arguments: 'check.tls_server_name check.grpc_use_tls',
  },
  {
    file: 'src/agent/services/check-probe.test.ts',
    test: 'a grpc check of a service that ${name} is ${outcome}',
    arguments: 'check.grpc_service',
  },
  {
    file: 'src/agent/services/check-runner.test.ts',
    test: 'check ${JSON.stringify(fields)} after "${looks}" is ${status}',
    arguments:
      'check.on_update check.success_before_passing check.failures_before_critical service.on_update',
  },
  {
    file: 'src/agent/services/check-runner.test.ts',
    test: 'as often as it may',
    arguments: 'check_restart.limit',
  },
  {
    file: 'src/agent/services/check-runner.test.ts',
    test: 'in its grace',
    arguments: 'check_restart.grace',
  },
  {
    file: 'src/agent/services/check-runner.test.ts',
    test: 'with ignored ones',
    arguments: 'check_restart.ignore_warnings',
  },
  {
    file: 'test/api/exec.test.ts',
    test: 'action: a named command of the job runs in an allocation of it',
    arguments: 'action.command action.args',
  },
  {
    file: 'test/api/scaling-policies.test.ts',
    test: 'scaling policies: a registered job has its policies listed and read',
    arguments: 'scaling.min scaling.max scaling.enabled scaling.type scaling.policy',
  },
  {
    file: 'src/scheduler/reconcile/reschedule.test.ts',
    test: 'reschedule delays: ${policy.DelayFunction}',
    arguments: 'reschedule.delay reschedule.delay_function reschedule.max_delay',
  },
  {
    file: 'src/scheduler/reconcile/reschedule.test.ts',
    test: 'attempts before the interval are forgotten',
    arguments: 'reschedule.interval',
  },
  {
    file: 'src/scheduler/rolling-update.test.ts',
    test: 'max_parallel bounds a wave',
    arguments: 'update.max_parallel',
  },
  {
    file: 'src/control/decide-deployment.test.ts',
    test: 'fails when its time is over',
    arguments: 'update.progress_deadline',
  },
  {
    file: 'src/control/decide-deployment.test.ts',
    test: "deployment: a group ${AutoRevert ? 'that asks' : 'that does not ask'} to be reverted",
    arguments: 'update.auto_revert',
  },
  {
    file: 'src/control/decide-deployment.test.ts',
    test: 'deployment: healthy canaries with auto_promote are promoted',
    arguments: 'update.auto_promote',
  },
  {
    file: 'src/scheduler/canary.test.ts',
    test: 'canary: is placed beside the allocation with its name, without replacements',
    arguments: 'update.canary',
  },
  {
    file: 'src/control/decide-drain.test.ts',
    test: 'drain: never goes below count minus max_parallel',
    arguments: 'migrate.max_parallel',
  },
  {
    file: 'src/control/decide-drain.test.ts',
    test: 'drain: without a report, healthy after min_healthy_time',
    arguments: 'migrate.min_healthy_time',
  },
  {
    file: 'src/agent/allocation/health.test.ts',
    test: 'of none: by those of migrations',
    arguments: 'migrate.health_check migrate.healthy_deadline',
  },
  {
    file: 'src/scheduler/disconnect.test.ts',
    test: 'disconnect: is lost after lost_after',
    arguments: 'disconnect.lost_after',
  },
  {
    file: 'src/scheduler/disconnect.test.ts',
    test: 'disconnect: with replace = false keeps its name index',
    arguments: 'disconnect.replace',
  },
  {
    file: 'src/scheduler/disconnect.test.ts',
    test: 'keep_replacement',
    arguments: 'disconnect.reconcile',
  },
  {
    file: 'src/agent/allocation/heartbeat-stop.test.ts',
    test: 'heartbeat stop: stops configured allocations after the last contact, no others',
    arguments: 'disconnect.stop_on_client_after',
  },
  {
    file: 'src/scheduler/placement.test.ts',
    test: 'placement: sticky disk prefers the previous node',
    arguments: 'ephemeral_disk.sticky',
  },
  {
    file: 'test/api/migrate-data.test.ts',
    test: 'goes to the next node',
    arguments: 'ephemeral_disk.migrate',
  },
  {
    file: 'src/scheduler/placement.test.ts',
    test: "group: { EphemeralDisk: { SizeMB: 100_001 } }, dimension: 'disk'",
    arguments: 'ephemeral_disk.size',
  },
  {
    file: 'src/scheduler/group-placer.test.ts',
    test: 'placement: sticky volume binds to the previous node',
    arguments: 'volume.sticky',
  },
  {
    file: 'src/agent/task/task-hooks.test.ts',
    test: 'each allocation has its own',
    arguments: 'volume.per_alloc',
  },
  {
    file: 'test/control/periodic-loop.test.ts',
    test: 'periodic: children are launched when they are due, each with its evaluation',
    arguments: 'periodic.cron',
  },
  {
    file: 'test/control/periodic-loop.test.ts',
    test: 'periodic: of several specs each is followed',
    arguments: 'periodic.crons',
  },
  {
    file: 'test/control/periodic-loop.test.ts',
    test: 'periodic: a launch is skipped while an earlier child runs, and not repeated',
    arguments: 'periodic.prohibit_overlap',
  },
  {
    file: 'test/control/periodic-loop.test.ts',
    test: 'periodic: the time zone of the job counts',
    arguments: 'periodic.time_zone',
  },
  {
    file: 'test/control/periodic-loop.test.ts',
    test: 'a disabled job',
    arguments: 'periodic.enabled',
  },
  {
    file: 'src/regions/multiregion/decide-rollout.test.ts',
    test: 'may roll beside as many as allowed',
    arguments: 'strategy.max_parallel',
  },
  {
    file: 'src/regions/multiregion/decide-rollout.test.ts',
    test: 'fails with any other under fail_all',
    arguments: 'strategy.on_failure',
  },
  {
    file: 'src/model/deployment/multiregion.test.ts',
    test: 'job in a region: region overrides datacenters, pool, meta, counts',
    arguments: 'region.count region.datacenters region.node_pool region.meta',
  },
]

/** Jobs that set one of these are rejected: a test named `rejected: …` each. */
export const REJECTED: readonly (Omit<Elsewhere, 'file'> & { readonly file?: string })[] = [
  {
    test: 'an identity that a task would read',
    arguments:
      'identity.env identity.file identity.filepath identity.change_mode identity.change_signal identity.ttl identity.service_name',
  },
  { test: 'a named identity', arguments: 'identity.name identity.aud' },
  {
    test: 'secret_store',
    arguments:
      'secret_store.policies secret_store.role secret_store.namespace secret_store.cluster secret_store.env secret_store.disable_file secret_store.change_mode secret_store.change_signal secret_store.allow_token_expiration',
  },
  { test: 'secret', arguments: 'secret.provider secret.path secret.env secret.config' },
  {
    test: 'discovery of a task',
    arguments: 'discovery.namespace discovery.cluster discovery.partition',
  },
  {
    test: 'csi_plugin',
    arguments:
      'csi_plugin.id csi_plugin.type csi_plugin.mount_dir csi_plugin.stage_publish_base_dir csi_plugin.health_timeout',
  },
  { test: 'an SELinux label', arguments: 'volume_mount.selinux_label' },
  { test: 'a service mesh', arguments: 'service.connect' },
  { test: 'a cluster of an external catalogue', arguments: 'service.cluster' },
  { test: 'a check that a mesh exposes', arguments: 'check.expose' },
  { test: 'failures before a warning', arguments: 'check.failures_before_warning' },
  {
    file: 'src/model/validation/job-warnings.test.ts',
    test: 'disk resources of tasks are ignored',
    arguments: 'resources.disk',
  },
  {
    test: 'mount options of a host volume',
    arguments: 'mount_options.fs_type mount_options.mount_flags',
  },
  {
    file: 'src/model/validation/validate-job.test.ts',
    test: 'Unknown affinity operator "is_set"',
    arguments: 'affinity.is_set affinity.is_not_set',
  },
]

/** Without effect, and whoever sets one is told so in the warnings of the registration. */
export const WARNED: readonly (Omit<Elsewhere, 'file'> & { readonly file?: string })[] = [
  { test: 'stagger, beyond its default', arguments: 'update.stagger' },
  { test: 'render_templates', arguments: 'restart.render_templates' },
  { test: 'modes of a host volume', arguments: 'volume.access_mode volume.attachment_mode' },
  {
    test: 'addresses of a network',
    arguments: 'network.device network.cidr network.ip cni.args',
  },
  {
    test: 'what the built-in catalogue does not know',
    arguments:
      'weights.passing weights.warning service.tagged_addresses service.enable_tag_override',
  },
  { test: 'numa beyond require', arguments: 'numa.devices' },
  {
    file: 'src/model/validation/job-warnings.test.ts',
    test: 'mbits has been deprecated and is ignored',
    arguments: 'network.mbits',
  },
  {
    file: 'src/model/validation/job-warnings.test.ts',
    test: 'IOPS has been deprecated and is ignored',
    arguments: 'resources.iops',
  },
]

/** For readers of the job; nothing acts on them, and nobody expects it. */
export const DESCRIPTIVE: readonly string[] = [
  'check.notes',
  'link.label',
  'link.url',
  'service.canary_meta',
  'service.kind',
  'service.meta',
  'task.kind',
  'ui.description',
]
