import { cpus, hostname, networkInterfaces, release, totalmem, type } from 'node:os'
import { arch, constrainedMemory } from 'node:process'
import { readFile, statfs } from 'node:fs/promises'
import {
  AGENT_VERSION_ATTRIBUTE,
  type NetworkResource,
  type NodeNetwork,
  type NodeResources,
} from '@reeve/contract'
import { pluginVersions } from './network/cni/plugin-versions.ts'
import { SIGNAL_NAMES } from './signals.ts'

/** The machine as found: what it has, and what constraints may ask about. */
export interface Fingerprint {
  readonly Attributes: Readonly<Record<string, string>>
  readonly NodeResources: NodeResources
}

interface FingerprintOptions {
  /** The volume that allocations will fill. */
  readonly dataDir: string
  readonly version: string
  /**
   * The address that ports are published on; when absent, that of the default route's interface.
   */
  readonly address?: string
  /** Where CNI plug-ins are looked for. */
  readonly cniDirectories?: readonly string[]
}

/**
 * Ports that may be given to tasks which ask for any. Below the range that the kernel gives to
 * callers.
 */
const DYNAMIC_PORTS = { MinDynamicPort: 20_000, MaxDynamicPort: 32_000 } as const

/** Taken where a machine does not say how fast it is. */
const MHZ_ASSUMED = 1_000

const BYTES_PER_MB = 1024 * 1024

/** Reads the machine, as it is now. */
export async function fingerprint(options: FingerprintOptions): Promise<Fingerprint> {
  const cores = Math.max(1, cpus().length)
  const mhz = await frequencyMhz()
  const memoryBytes = memoryLimit()
  const disk = await statfs(options.dataDir)
  const network = findNetwork(await defaultInterface(), options.address)
  const os = parseOsRelease(await readText('/etc/os-release'))
  return {
    Attributes: {
      'kernel.name': type().toLowerCase(),
      'kernel.version': release(),
      'kernel.arch': KERNEL_ARCH[arch] ?? arch,
      'os.name': os.name,
      'os.version': os.version,
      'os.signals': SIGNAL_NAMES.join(','),
      'cpu.arch': CPU_ARCH[arch] ?? arch,
      'cpu.modelname': cpus()[0]?.model ?? '',
      'cpu.numcores': String(cores),
      'cpu.reservablecores': String(cores),
      'cpu.frequency': String(mhz),
      'cpu.totalcompute': String(cores * mhz),
      'cpu.usablecompute': String(cores * mhz),
      'memory.totalbytes': String(memoryBytes),
      'unique.hostname': hostname(),
      'unique.network.ip-address': network.resource.IP,
      'unique.storage.volume': options.dataDir,
      'unique.storage.bytestotal': String(disk.blocks * disk.bsize),
      'unique.storage.bytesfree': String(disk.bavail * disk.bsize),
      'agent.version': options.version,
      [AGENT_VERSION_ATTRIBUTE]: options.version,
      ...(await pluginVersions(options.cniDirectories ?? [])),
    },
    NodeResources: {
      Cpu: {
        CpuShares: cores * mhz,
        TotalCpuCores: cores,
        ReservableCpuCores: Array.from({ length: cores }, (_, core) => core),
      },
      Processors: null,
      Memory: { MemoryMB: Math.floor(memoryBytes / BYTES_PER_MB) },
      Disk: { DiskMB: Math.floor((disk.bavail * disk.bsize) / BYTES_PER_MB) },
      Devices: null,
      NodeNetworks: [network.node],
      Networks: [network.resource],
      ...DYNAMIC_PORTS,
    },
  }
}

/** Names that constraints use, by the runtime's name of the processor. */
const CPU_ARCH: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64', ia32: '386' }
const KERNEL_ARCH: Readonly<Record<string, string>> = {
  x64: 'x86_64',
  arm64: 'aarch64',
  ia32: 'i686',
}

/** A container may be given less than the machine has. */
function memoryLimit(): number {
  const constrained = constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

/** The full speed of a core: what it can do, not what it does while idle. */
async function frequencyMhz(): Promise<number> {
  const khz = Number(await readText('/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq'))
  if (khz > 0) return Math.round(khz / 1_000)
  return maxMhz(await readText('/proc/cpuinfo')) ?? MHZ_ASSUMED
}

/** The fastest core in the text of `/proc/cpuinfo`. */
export function maxMhz(cpuinfo: string): number | undefined {
  const speeds = [...cpuinfo.matchAll(/^cpu MHz\s*:\s*([\d.]+)$/gm)].map((match) =>
    Number(match[1]),
  )
  const fastest = Math.round(Math.max(0, ...speeds))
  return fastest > 0 ? fastest : undefined
}

export function parseOsRelease(text: string): { readonly name: string; readonly version: string } {
  const values = new Map<string, string>()
  for (const line of text.split('\n')) {
    const match = /^([A-Z_]+)=(?:"(.*)"|(.*))$/.exec(line.trim())
    if (match !== null) values.set(match[1] ?? '', match[2] ?? match[3] ?? '')
  }
  return { name: values.get('ID') ?? '', version: values.get('VERSION_ID') ?? '' }
}

/**
 * The interface of the default route in the text of `/proc/net/route`: the one with the lowest
 * metric.
 */
export function defaultRoute(table: string): string | undefined {
  const routes = table.split('\n').slice(1)
  const defaults = routes.flatMap((line) => {
    const [device, destination, , , , , metric, mask] = line.trim().split(/\s+/)
    if (device === undefined || destination !== '00000000' || mask !== '00000000') return []
    return [{ device, metric: Number(metric) }]
  })
  return defaults.toSorted((a, b) => a.metric - b.metric)[0]?.device
}

async function defaultInterface(): Promise<string | undefined> {
  return defaultRoute(await readText('/proc/net/route'))
}

interface FoundNetwork {
  readonly node: NodeNetwork
  readonly resource: NetworkResource
}

/**
 * The interface that has the wanted address; else the default route's; else loopback. IPv4 before
 * IPv6.
 */
function findNetwork(device: string | undefined, wanted: string | undefined): FoundNetwork {
  const all = Object.entries(networkInterfaces()).flatMap(([name, addresses]) => {
    return (addresses ?? []).map((address) => ({ name, ...address }))
  })
  const choices = [
    all.find((one) => one.address === wanted),
    ...(wanted === undefined
      ? [
          all.find((one) => one.name === device && one.family === 'IPv4'),
          all.find((one) => one.name === device),
          all.find((one) => one.internal),
        ]
      : []),
  ]
  const chosen = choices.find((one) => one !== undefined)
  const name = chosen?.name ?? ''
  const ip = chosen?.address ?? wanted ?? '127.0.0.1'
  const siblings = all.filter((one) => one.name === name)
  return {
    node: {
      Mode: 'host',
      Device: name,
      MacAddress: chosen?.mac ?? '',
      Speed: 0,
      Addresses: siblings.map((one) => ({
        Family: one.family === 'IPv4' ? 'ipv4' : 'ipv6',
        Alias: 'default',
        Address: one.address,
        ReservedPorts: '',
        Gateway: '',
      })),
    },
    resource: {
      Mode: 'host',
      Device: name,
      CIDR: chosen?.cidr ?? `${ip}/32`,
      IP: ip,
      Hostname: '',
      MBits: 0,
      DNS: null,
      ReservedPorts: null,
      DynamicPorts: null,
      CNI: null,
    },
  }
}

/** Empty when the machine has no such file: not every kernel offers every one. */
async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}
