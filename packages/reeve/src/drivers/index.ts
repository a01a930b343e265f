export { DockerDriver, type DockerDriverOptions } from './docker/docker-driver.ts'
export {
  DEFAULT_DOCKER_SETTINGS,
  type DockerPolicy,
  type DockerSettings,
} from './docker/docker-policy.ts'
export type { EngineTls } from './docker/engine-client.ts'
export { ExecDriver, type ExecPolicy } from './exec/exec-driver.ts'
export { CGROUP_PARENT } from './native/cgroup.ts'
export { NativeSupervisor } from './native/native-supervisor.ts'
export { MockDriver } from './mock/mock-driver.ts'
export { RawExecDriver } from './raw-exec/raw-exec-driver.ts'
export { DEFAULT_CAPS } from './capabilities.ts'
