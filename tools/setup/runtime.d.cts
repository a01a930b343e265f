/** What the program's Node is told: nothing where it is not the pinned one. */
export function programFlags(root: string, runtime: string): readonly string[]
/** What a server with this much memory is told besides; undefined where there is enough. */
export function smallMemoryFlags(memoryBytes: number): readonly string[] | undefined
/** The environment that sets up the allocator of the program, and of nothing that it starts. */
export const ALLOCATOR_SETTINGS: Readonly<
  Record<'MALLOC_MMAP_THRESHOLD_' | 'MALLOC_TRIM_THRESHOLD_', string>
>
