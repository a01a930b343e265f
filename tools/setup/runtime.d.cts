/** What the program's Node is told: nothing where it is not the pinned one. */
export function programFlags(root: string, runtime: string): readonly string[]
