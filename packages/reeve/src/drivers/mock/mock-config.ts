import { TaskSettings } from '../settings/task-settings.ts'

/** How a pretended process behaves: a task, or a command run inside one. */
export interface MockProcess {
  /** `run_for`: undefined runs until it is stopped. */
  readonly runForMs: number | undefined
  /** `exit_code`, `exit_signal`, `exit_err_msg`: how it ends by itself. */
  readonly exitCode: number
  readonly exitSignal: number
  readonly exitMessage: string
  readonly stdout: MockOutput
  readonly stderr: MockOutput
}

interface MockOutput {
  /** `stdout_string`: said at once; empty says nothing. */
  readonly text: string
  /** `stdout_repeat`: how many times more, `stdout_repeat_duration` apart. */
  readonly repeats: number
  readonly everyMs: number
}

/** What a mock task does, from its `Config`. */
export interface MockConfig extends MockProcess {
  /**
   * `start_error`: the start fails with this text; `start_error_recoverable`: another try may help.
   */
  readonly startError: string
  readonly isStartErrorRecoverable: boolean
  /** `start_block_for`: how long the start takes. */
  readonly startBlockMs: number
  /** `kill_after`: how long it takes to end after the kill signal; undefined at once. */
  readonly killAfterMs: number
  /** `signal_error`: signals are refused with this text. */
  readonly signalError: string
  /** `driver_ip`, `driver_port_map`: the address it pretends to have. */
  readonly driverIp: string
  readonly driverPorts: Readonly<Record<string, number>>
  /** `plugin_exit_after`: when the driver loses the task, as if it had crashed itself. */
  readonly loseAfterMs: number | undefined
  /** `exec_command`: what commands inside do; undefined: they say back what they are told. */
  readonly execCommand: MockProcess | undefined
}

const PROCESS_FIELDS = [
  'run_for',
  'exit_code',
  'exit_signal',
  'exit_err_msg',
  'stdout_string',
  'stdout_repeat',
  'stdout_repeat_duration',
  'stderr_string',
  'stderr_repeat',
  'stderr_repeat_duration',
]
const FIELDS = [
  ...PROCESS_FIELDS,
  'start_error',
  'start_error_recoverable',
  'start_block_for',
  'kill_after',
  'signal_error',
  'driver_ip',
  'driver_port_map',
  'plugin_exit_after',
  'exec_command',
]

const REPEATS_MAX = 1_000_000
const SIGNAL_MAX = 64
const CODE = { min: -(2 ** 31), max: 2 ** 31 - 1 }

export function readMockConfig(config: Readonly<Record<string, unknown>>): MockConfig {
  const settings = new TaskSettings(config, { of: 'mock', known: FIELDS })
  const exec = settings.block('exec_command', PROCESS_FIELDS)
  return {
    ...readProcess(settings),
    startError: settings.text('start_error') ?? '',
    isStartErrorRecoverable: settings.bool('start_error_recoverable') ?? false,
    startBlockMs: settings.durationMs('start_block_for') ?? 0,
    killAfterMs: settings.durationMs('kill_after') ?? 0,
    signalError: settings.text('signal_error') ?? '',
    driverIp: settings.text('driver_ip') ?? '',
    driverPorts: portMap(settings),
    loseAfterMs: settings.durationMs('plugin_exit_after'),
    execCommand: exec === undefined ? undefined : readProcess(exec),
  }
}

function readProcess(settings: TaskSettings): MockProcess {
  return {
    runForMs: settings.durationMs('run_for'),
    exitCode: settings.integer('exit_code', CODE) ?? 0,
    exitSignal: settings.integer('exit_signal', { min: 0, max: SIGNAL_MAX }) ?? 0,
    exitMessage: settings.text('exit_err_msg') ?? '',
    stdout: readOutput(settings, 'stdout'),
    stderr: readOutput(settings, 'stderr'),
  }
}

function readOutput(settings: TaskSettings, stream: 'stdout' | 'stderr'): MockOutput {
  return {
    text: settings.text(`${stream}_string`) ?? '',
    repeats: settings.integer(`${stream}_repeat`, { min: 0, max: REPEATS_MAX }) ?? 0,
    everyMs: settings.durationMs(`${stream}_repeat_duration`) ?? 0,
  }
}

/** Ports by label. */
function portMap(settings: TaskSettings): Readonly<Record<string, number>> {
  const ports = Object.entries(settings.map('driver_port_map')).map(([label, port]) => {
    const number = Number(port)
    if (Number.isInteger(number) && number > 0 && number < 65_536) return [label, number] as const
    throw settings.refuse(`driver_port_map[${JSON.stringify(label)}]`, 'must be a port')
  })
  return Object.fromEntries(ports)
}
