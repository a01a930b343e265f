export { openEmbeddedEngine, type EmbeddedOptions } from './embedded/open-embedded-engine.ts'
