import { cpus, hostname, networkInterfaces, release, totalmem, type } from 'node:os'
import { arch, constrainedMemory } from 'node:process'
import { readFile, statfs } from 'node:fs/promises'
import {
  AGENT_VERSION_ATTRIBUTE,
  type NetworkResource,
  type NodeNetwork,
  type NodeResources,
} from '@reeve/contract'
import { readPluginVersions } from './network/cni/plugin.ts'
import { SIGNAL_NAMES } from './signals.ts'

/** The detected machine: its resources, and its attributes for constraints. */
export interface Fingerprint {
  readonly Attributes: Readonly<Record<string, string>>
  readonly NodeResources: NodeResources
}

interface FingerprintOptions {
  /** Directory on the file system that allocations use. */
  readonly dataDir: string
  readonly version: string
  /**
   * The address that ports are published on; when absent, that of the default route's interface.
   */
  readonly address?: string
  /** Directories that are searched for CNI plug-ins. */
  readonly cniDirectories?: readonly string[]
}

/** Default range for dynamic ports, below the ephemeral ports of the kernel. */
const DYNAMIC_PORTS = { MinDynamicPort: 20_000, MaxDynamicPort: 32_000 } as const

/** Assumed frequency of a machine that does not report any. */
const DEFAULT_MHZ = 1_000

const BYTES_PER_MB = 1024 * 1024

/** Detects the current resources and attributes of the machine. */
export async function fingerprint(options: FingerprintOptions): Promise<Fingerprint> {
  const cores = Math.max(1, cpus().length)
  const mhz = await cpuFrequencyMhz()
  const memoryBytes = availableMemoryBytes()
  const disk = await statfs(options.dataDir)
  const network = detectNetwork(await readDefaultRouteDevice(), options.address)
  const os = parseOsRelease(await readOptionalFile('/etc/os-release'))
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
      ...(await readPluginVersions(options.cniDirectories ?? [])),
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

/** Architecture names for constraints, by the runtime's name. */
const CPU_ARCH: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64', ia32: '386' }
const KERNEL_ARCH: Readonly<Record<string, string>> = {
  x64: 'x86_64',
  arm64: 'aarch64',
  ia32: 'i686',
}

/** A container may be given less than the machine has. */
function availableMemoryBytes(): number {
  const constrained = constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

/** Maximum frequency of a core, not its current one. */
async function cpuFrequencyMhz(): Promise<number> {
  const khz = Number(
    await readOptionalFile('/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq'),
  )
  if (khz > 0) return Math.round(khz / 1_000)
  return fastestCoreMhz(await readOptionalFile('/proc/cpuinfo')) ?? DEFAULT_MHZ
}

/** The fastest core in the text of `/proc/cpuinfo`. */
export function fastestCoreMhz(cpuinfo: string): number | undefined {
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
export function parseDefaultRouteDevice(table: string): string | undefined {
  const routes = table.split('\n').slice(1)
  const defaultRoutes = routes.flatMap((line) => {
    const [device, destination, , , , , metric, mask] = line.trim().split(/\s+/)
    if (device === undefined || destination !== '00000000' || mask !== '00000000') return []
    return [{ device, metric: Number(metric) }]
  })
  return defaultRoutes.toSorted((a, b) => a.metric - b.metric)[0]?.device
}

async function readDefaultRouteDevice(): Promise<string | undefined> {
  return parseDefaultRouteDevice(await readOptionalFile('/proc/net/route'))
}

interface DetectedNetwork {
  readonly node: NodeNetwork
  readonly resource: NetworkResource
}

/**
 * Chooses the interface with the advertised address, otherwise that of the default route, otherwise
 * loopback. IPv4 is preferred.
 */
function detectNetwork(
  defaultDevice: string | undefined,
  advertisedAddress: string | undefined,
): DetectedNetwork {
  const allAddresses = Object.entries(networkInterfaces()).flatMap(([name, addresses]) => {
    return (addresses ?? []).map((address) => ({ name, ...address }))
  })
  const candidates = [
    allAddresses.find((candidate) => candidate.address === advertisedAddress),
    ...(advertisedAddress === undefined
      ? [
          allAddresses.find(
            (candidate) => candidate.name === defaultDevice && candidate.family === 'IPv4',
          ),
          allAddresses.find((candidate) => candidate.name === defaultDevice),
          allAddresses.find((candidate) => candidate.internal),
        ]
      : []),
  ]
  const chosen = candidates.find((candidate) => candidate !== undefined)
  const name = chosen?.name ?? ''
  const ip = chosen?.address ?? advertisedAddress ?? '127.0.0.1'
  const deviceAddresses = allAddresses.filter((candidate) => candidate.name === name)
  return {
    node: {
      Mode: 'host',
      Device: name,
      MacAddress: chosen?.mac ?? '',
      Speed: 0,
      Addresses: deviceAddresses.map((candidate) => ({
        Family: candidate.family === 'IPv4' ? 'ipv4' : 'ipv6',
        Alias: 'default',
        Address: candidate.address,
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
async function readOptionalFile(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}
