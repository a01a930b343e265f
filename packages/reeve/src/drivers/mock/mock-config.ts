import { ConfigReader } from '../config-reader.ts'

/** Behaviour of a simulated process: a task, or a command in a task. */
export interface MockProcess {
  /** `run_for`; undefined: runs until it is stopped. */
  readonly runForMs: number | undefined
  /** `exit_code`, `exit_signal`, `exit_err_msg`: the exit at the end of `run_for`. */
  readonly exitCode: number
  readonly exitSignal: number
  readonly exitMessage: string
  readonly stdout: MockOutput
  readonly stderr: MockOutput
}

interface MockOutput {
  /** `stdout_string`: printed at the start; empty prints nothing. */
  readonly text: string
  /** `stdout_repeat`: number of repetitions, `stdout_repeat_duration` apart. */
  readonly repeatCount: number
  readonly repeatIntervalMs: number
}

/** Behaviour of a mock task, parsed from its `Config`. */
export interface MockConfig extends MockProcess {
  /**
   * `start_error`: the start fails with this message; `start_error_recoverable`: a retry may
   * succeed.
   */
  readonly startError: string
  readonly isStartErrorRecoverable: boolean
  /** `start_block_for`: duration of the start. */
  readonly startBlockMs: number
  /** `kill_after`: time from the kill signal to the exit; undefined: immediately. */
  readonly killAfterMs: number
  /** `signal_error`: signals fail with this message. */
  readonly signalError: string
  /** `driver_ip`, `driver_port_map`: the simulated address. */
  readonly driverIp: string
  readonly driverPorts: Readonly<Record<string, number>>
  /**
   * `plugin_exit_after`: time after which the driver loses the task, as if the driver had crashed.
   */
  readonly lostAfterMs: number | undefined
  /** `exec_command`: behaviour of commands in the task; undefined: they echo their input. */
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
const TASK_FIELDS = [
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
const EXIT_CODE_RANGE = { min: -(2 ** 31), max: 2 ** 31 - 1 }

export function readMockConfig(config: Readonly<Record<string, unknown>>): MockConfig {
  const reader = new ConfigReader(config, { owner: 'mock', known: TASK_FIELDS })
  const execBlock = reader.block('exec_command', PROCESS_FIELDS)
  return {
    ...readProcess(reader),
    startError: reader.string('start_error') ?? '',
    isStartErrorRecoverable: reader.bool('start_error_recoverable') ?? false,
    startBlockMs: reader.durationMs('start_block_for') ?? 0,
    killAfterMs: reader.durationMs('kill_after') ?? 0,
    signalError: reader.string('signal_error') ?? '',
    driverIp: reader.string('driver_ip') ?? '',
    driverPorts: readPortMap(reader),
    lostAfterMs: reader.durationMs('plugin_exit_after'),
    execCommand: execBlock === undefined ? undefined : readProcess(execBlock),
  }
}

function readProcess(reader: ConfigReader): MockProcess {
  return {
    runForMs: reader.durationMs('run_for'),
    exitCode: reader.integer('exit_code', EXIT_CODE_RANGE) ?? 0,
    exitSignal: reader.integer('exit_signal', { min: 0, max: SIGNAL_MAX }) ?? 0,
    exitMessage: reader.string('exit_err_msg') ?? '',
    stdout: readOutput(reader, 'stdout'),
    stderr: readOutput(reader, 'stderr'),
  }
}

function readOutput(reader: ConfigReader, stream: 'stdout' | 'stderr'): MockOutput {
  return {
    text: reader.string(`${stream}_string`) ?? '',
    repeatCount: reader.integer(`${stream}_repeat`, { min: 0, max: REPEATS_MAX }) ?? 0,
    repeatIntervalMs: reader.durationMs(`${stream}_repeat_duration`) ?? 0,
  }
}

/** Ports by label. */
function readPortMap(reader: ConfigReader): Readonly<Record<string, number>> {
  const ports = Object.entries(reader.map('driver_port_map')).map(([label, port]) => {
    const number = Number(port)
    if (Number.isInteger(number) && number > 0 && number < 65_536) return [label, number] as const
    throw reader.fault(`driver_port_map[${JSON.stringify(label)}]`, 'must be a port')
  })
  return Object.fromEntries(ports)
}
