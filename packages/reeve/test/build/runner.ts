import { AllocationRunner } from '../../src/agent/allocation/allocation-runner.ts'
import type { Assignment } from '../../src/agent/assignment.ts'
import type { TaskDriver } from '../../src/agent/driver.ts'
import type { AgentContext } from '../../src/agent/agent-context.ts'
import type { NodeInfo } from '../../src/agent/node-info.ts'
import { EventLoopBudget, Semaphore } from '../../src/agent/timing.ts'
import { MemoryStore, type TaskRecords } from '../../src/agent/store/agent-store.ts'
import { NoopWorkspace } from '../../src/agent/store/workspace.ts'
import { DEFAULT_TASK_HOOKS } from '../../src/agent/task/task-hooks.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { MockDriver } from '../../src/drivers/index.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { SILENT_LOG, turn } from './agent.ts'

const aNode: NodeInfo = {
  ID: '00000000-0000-4000-8000-0000000000aa',
  Name: 'node-1',
  Region: 'global',
  Datacenter: 'dc1',
  NodePool: 'default',
  NodeClass: 'big',
  Attributes: { 'kernel.name': 'linux', 'cpu.arch': 'amd64' },
  Meta: { rack: 'r1' },
}

type HostFields = Partial<AgentContext> & { readonly driverList?: readonly TaskDriver[] }

/** What runners share; in memory unless said otherwise. */
function aHost(clock: Clock, fields: HostFields = {}): AgentContext {
  const { driverList = [], ...rest } = fields
  return {
    clock,
    random: { next: () => 0 },
    log: SILENT_LOG,
    store: new MemoryStore(),
    workspace: new NoopWorkspace(),
    drivers: new Map(driverList.map((driver) => [driver.name, driver])),
    taskHooks: DEFAULT_TASK_HOOKS,
    startSlots: new Semaphore(8),
    loopBudget: new EventLoopBudget(),
    recordsDir: '/nowhere/records',
    bootId: 'boot-1',
    killTimeoutMaxMs: 30_000,
    nodeInfo: () => aNode,
    firstServerContact: Promise.resolve(),
    ...rest,
  }
}

export interface RunnerBench {
  readonly clock: SimulatedClock
  readonly driver: MockDriver
  readonly runner: AllocationRunner
  /** The types of a task's events, oldest first. */
  events(task: string): readonly string[]
}

interface BenchFields extends HostFields {
  readonly records?: TaskRecords
}

/** A started runner of one allocation with the mock driver on a simulated clock. */
export async function aRunner(
  assignment: Assignment,
  { records = {}, ...fields }: BenchFields = {},
): Promise<RunnerBench> {
  const clock = new SimulatedClock()
  const driver = new MockDriver({ clock })
  const runner = new AllocationRunner({
    agent: aHost(clock, { driverList: [driver], ...fields }),
    assignment,
    savedTasks: records,
    report: () => undefined,
    awaitTermination: () => Promise.resolve(),
  })
  runner.start()
  await turn()
  const events = (task: string): readonly string[] =>
    runner.task(task).state.Events.map((event) => event.Type)
  return { clock, driver, runner, events }
}
