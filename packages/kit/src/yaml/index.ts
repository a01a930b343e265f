export { parseYaml } from './parse.ts'
export { writeYaml } from './write.ts'
export type { YamlValue } from './read-node.ts'
