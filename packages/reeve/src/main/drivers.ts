import { join } from 'node:path'
import type { TaskDriver } from '../agent/index.ts'
import { DockerDriver, ExecDriver, NativeRuntime, RawExecDriver } from '../drivers/index.ts'
import type { AgentConfig } from './config/agent-config.ts'
import { helperProgram } from './task-program.ts'
import { systemClock as clock } from './system.ts'

/**
 * The drivers that this node's configuration lets tasks have. Which of them work here is found out
 * by each of them.
 */
export function createDrivers(
  { rawExec, exec, docker }: AgentConfig['client'],
  dataDir: string,
): readonly TaskDriver[] {
  const program = helperProgram(dataDir)
  const stateDir = join(dataDir, 'drivers')
  const helper = program === undefined ? undefined : new NativeRuntime({ program, stateDir, clock })
  const drivers: TaskDriver[] = []
  if (rawExec)
    drivers.push(new RawExecDriver({ clock, ...(helper === undefined ? {} : { helper }) }))
  if (exec.enabled && helper !== undefined) {
    const chrootEnv = Object.keys(exec.chrootEnv).length === 0 ? undefined : exec.chrootEnv
    drivers.push(new ExecDriver({ clock, helper, stateDir, policy: { ...exec, chrootEnv } }))
  }
  if (docker.enabled) {
    const socketPath = docker.endpoint.slice('unix://'.length)
    const auth = docker.authFile === undefined ? {} : { authFile: docker.authFile }
    const { policy, gc } = docker
    drivers.push(new DockerDriver({ clock, socketPath, policy, gc, stateDir, ...auth }))
  }
  return drivers
}
