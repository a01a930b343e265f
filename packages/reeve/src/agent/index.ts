export { unbracketHost, newPolicyLookup, requireAllowedAddress } from './artifact/address-policy.ts'
export { isReachable, websocketDialer } from './websocket-dialer.ts'
export {
  DRIVER_UNAVAILABLE,
  type DriverAddress,
  type DriverContext,
  type DriverHealth,
  type ExecRequest,
  type ExecSession,
  HOST_NETWORK,
  type LiveTasks,
  NO_IDENTITY,
  type OrphanKillingDriver,
  type Reconciliation,
  type ReconcilingDriver,
  type Recovery,
  type RunningTask,
  type StopRequest,
  type TaskDriver,
  type TaskExit,
  type TaskHandle,
  type TaskLaunch,
  type TaskLogFiles,
  type TaskMount,
  type TaskNetwork,
  type TaskPort,
  type TaskResources,
  type TaskUsage,
  type TerminalSize,
} from './driver.ts'
export { fingerprint, type Fingerprint } from './fingerprint.ts'
export { memoryChannelPair, type Channel, type Dialer } from './link/channel.ts'
export type { Logger } from './log.ts'
export { TAR_END, tarHeader } from './migrate/pack-data.ts'
export { BridgeNetwork } from './network/bridge-network.ts'
export { toBridgeSettings } from './network/firewall.ts'
export { CniNetworks } from './network/cni/cni-networks.ts'
export { readHostData } from './remote/host-data.ts'
export { NodeNetworks } from './network/node-networks.ts'
export { NodeAgent } from './node-agent.ts'
export type { NodeSettings } from './local-node.ts'
export type { VolumeSettings } from './volumes/dynamic-volumes.ts'
export { findSignal } from './signals.ts'
export { SafeDirectory } from './store/safe-directory.ts'
export { bindMountDescriptor, lazyUnmount, readMounts } from './store/mounts.ts'
export { errorCode, isMissing } from './store/state-file.ts'
export { diskStorage, memoryStorage, type AgentStorage } from './store/agent-storage.ts'
export { ALLOCATION_ENV_KEY, TASK_ENV_KEY } from './task/environment.ts'
export {
  getHostUser,
  getUserIn,
  readHostAccounts,
  type HostAccounts,
  type HostUser,
} from './host-user.ts'
export { sleep, withTimeout } from './timing.ts'
