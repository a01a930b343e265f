/** Words of the access rules. */

export const NAMESPACE_CAPABILITIES = [
  'deny',
  'list-jobs',
  'parse-job',
  'read-job',
  'submit-job',
  'dispatch-job',
  'scale-job',
  'read-job-scaling',
  'list-scaling-policies',
  'read-scaling-policy',
  'policy-override',
  'read-logs',
  'read-fs',
  'alloc-exec',
  'alloc-node-exec',
  'alloc-lifecycle',
  'csi-register-plugin',
  'csi-write-volume',
  'csi-read-volume',
  'csi-list-volume',
  'csi-mount-volume',
  'host-volume-create',
  'host-volume-register',
  'host-volume-read',
  'host-volume-write',
  'host-volume-delete',
  'submit-recommendation',
  'register-job',
  'revert-job',
  'deregister-job',
  'purge-job',
  'evaluate-job',
  'plan-job',
  'tag-job-version',
  'stable-job',
  'fail-deployment',
  'pause-deployment',
  'promote-deployment',
  'unblock-deployment',
  'cancel-deployment',
  'set-alloc-health-deployment',
  'gc-allocation',
  'pause-allocation',
  'force-periodic-job',
  'delete-service-registration',
] as const
export type NamespaceCapability = (typeof NAMESPACE_CAPABILITIES)[number]

export const NODE_POOL_CAPABILITIES = ['deny', 'read', 'write', 'delete'] as const
export type NodePoolCapability = (typeof NODE_POOL_CAPABILITIES)[number]

export const HOST_VOLUME_CAPABILITIES = ['deny', 'mount-readonly', 'mount-readwrite'] as const
export type HostVolumeCapability = (typeof HOST_VOLUME_CAPABILITIES)[number]

export const OPERATOR_CAPABILITIES = [
  'deny',
  'license-read',
  'snapshot-save',
  'keyring-read',
  'keyring-rotate',
  'keyring-delete',
] as const
export type OperatorCapability = (typeof OPERATOR_CAPABILITIES)[number]

export const VARIABLE_CAPABILITIES = ['deny', 'list', 'read', 'write', 'destroy'] as const
export type VariableCapability = (typeof VARIABLE_CAPABILITIES)[number]

/** The shorthand of a rule; `scale` means something in namespaces only, `list` for plugins only. */
export const RULE_POLICIES = ['deny', 'read', 'write', 'scale', 'list'] as const
export type RulePolicy = (typeof RULE_POLICIES)[number]
